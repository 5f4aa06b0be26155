"""Fixtures shared by all tests, and markers set by rule."""

import os
from dataclasses import replace
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # read when huggingface_hub is imported

import hypothesis
import pytest
import torch
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.document.tags import TagScheme
from formnet.encoding import load_tokenizer
from formnet.extraction.extractor import Extractor
from formnet.extraction.task import label_config
from formnet.io.readers import read
from formnet.io.writers import write
from formnet.modeling import FormNetConfig, FormNetForTokenClassification
from paper import LINES, text_pdf

# A busy machine is not a failure; tests that measure time have the marker `timing`.
hypothesis.settings.register_profile("formnet", deadline=None)
hypothesis.settings.load_profile("formnet")

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz0123456789.,/:-#"]
VOCABULARY += [f"##{token}" for token in VOCABULARY[5:]]


def find_data() -> Path | None:
    """Return the folder of the public corpora, $FORMNET_DATA or `data` in the checkout, if it exists."""
    name = os.environ.get("FORMNET_DATA")
    folder = Path(name) if name else ROOT / "data"
    return folder if folder.is_dir() else None


#: Markers in the order in which parallel runs start tests: the slowest first, so that all workers finish together.
_SLOWEST_FIRST = ("ray", "training", "slow", "ocr", "data", "unit")


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that use the corpora as `data`, and tests without any other marker as `unit`."""
    for item in items:
        if "data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)
        if not {mark.name for mark in item.iter_markers()} & {"slow", "ray", "training", "ocr", "data", "timing"}:
            item.add_marker(pytest.mark.unit)
    if "PYTEST_XDIST_WORKER" in os.environ:
        rank: dict[str, int] = {}
        for item in items:
            markers = {mark.name for mark in item.iter_markers()}
            first = next((i for i, name in enumerate(_SLOWEST_FIRST) if name in markers), len(_SLOWEST_FIRST))
            rank[str(item.path)] = min(first, rank.get(str(item.path), first))
        items.sort(key=lambda item: rank[str(item.path)])


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of the public corpora; tests that need it are skipped without it, and fail in CI."""
    folder = find_data()
    if folder is None:
        message = "public corpora not found. Set FORMNET_DATA to the folder that contains funsd, cord, sroie, …"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def examples() -> Path:
    """Folder of the example documents in the repository."""
    return EXAMPLES


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vocabulary file with all words and characters of the examples, so that none is unknown."""
    texts = {text.lower() for document in read(ROOT / "examples/documents.jsonl") for text in document.texts}
    characters = sorted({c for text in texts for c in text})
    tokens = ["[PAD]", "[UNK]", "[MASK]", *characters, *(f"##{c}" for c in characters), *sorted(texts - {*characters})]
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(dict.fromkeys(tokens)), encoding="utf-8")
    return path


@pytest.fixture
def documents(examples: Path) -> list[Document]:
    """The example documents in the repository."""
    return list(read(examples / "documents.jsonl"))


@pytest.fixture
def pages(tmp_path: Path, documents: list[Document]) -> list[Path]:
    """Two files of unlabeled pages for pre-training."""
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    for name, file in zip("ab", files, strict=True):
        write((replace(documents[i % 2], id=f"{name}{i}") for i in range(9)), file)
    return files


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    """A tokenizer of single characters."""
    file = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    file.write_text("\n".join(VOCABULARY))
    return load_tokenizer(file)


@pytest.fixture(scope="session")
def model(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny model with random weights, scaled so that it predicts some entities."""
    torch.manual_seed(1)
    labels = label_config({"": TagScheme(("company", "date", "total"))})
    config = FormNetConfig.of_size("tiny", vocab_size=len(VOCABULARY), **labels)
    network = FormNetForTokenClassification(config).eval()
    with torch.no_grad():
        network.classifier.weight.normal_(std=0.5)
        network.classifier.bias[0] = -1.0
    folder = tmp_path_factory.mktemp("model")
    Extractor(network, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def extractor(model: Path) -> Extractor:
    """An extractor with the tiny model."""
    return Extractor.from_pretrained(model)


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    """A PDF of two pages with a text layer."""
    file = tmp_path / "invoice.pdf"
    file.write_bytes(text_pdf([LINES, ("Page two",)]))
    return file
