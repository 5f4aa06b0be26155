from pathlib import Path

import pytest
from tokenizers import Tokenizer

from encoding_inputs import VOCABULARY
from formnet.encoding import load_tokenizer


@pytest.fixture(scope="session")
def small_vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small_tokenizer(small_vocabulary: Path) -> Tokenizer:
    return load_tokenizer(small_vocabulary)


@pytest.fixture(scope="session", params=["bert-base-multilingual-cased", "bert-base-uncased"])
def bert_tokenizer(request: pytest.FixtureRequest, data: Path) -> Tokenizer:
    return load_tokenizer(data / "vocab" / f"{request.param}-vocab.txt")
