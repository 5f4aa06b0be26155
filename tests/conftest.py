import os
from dataclasses import replace
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"  # read once, when the hub's client is imported

import pytest
import torch
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.document.tags import TagScheme
from formnet.encoding import load_tokenizer
from formnet.extraction.extractor import Extractor, labels_of
from formnet.io.readers import read
from formnet.io.writers import write
from formnet.modeling import FormNetConfig, FormNetForTokenClassification
from paper import LINES, text_pdf

ROOT = Path(__file__).parent.parent
EXAMPLES = ROOT / "examples"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz0123456789.,/:-#"]
WORDS += [f"##{piece}" for piece in WORDS[5:]]


def find_data() -> Path | None:
    """Where the public corpora are: $FORMNET_DATA, or a folder `data` in the checkout."""
    named = os.environ.get("FORMNET_DATA")
    folder = Path(named) if named else ROOT / "data"
    return folder if folder.is_dir() else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests that need the corpora, and as unit tests those without a marker of their own."""
    for item in items:
        if "data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.data)
        if not {mark.name for mark in item.iter_markers()} & {"slow", "ray", "training", "ocr", "data"}:
            item.add_marker(pytest.mark.unit)


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of public corpora; a test that needs it says so when it is missing, and fails in CI."""
    folder = find_data()
    if folder is None:
        message = "the public corpora are not here: set FORMNET_DATA to the folder that holds funsd, cord, sroie, …"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def examples() -> Path:
    return EXAMPLES


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pieces for the examples: their words and all characters, so that nothing is unknown."""
    texts = {text.lower() for document in read(ROOT / "examples/documents.jsonl") for text in document.texts}
    characters = sorted({c for text in texts for c in text})
    pieces = ["[PAD]", "[UNK]", "[MASK]", *characters, *(f"##{c}" for c in characters), *sorted(texts - {*characters})]
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(dict.fromkeys(pieces)), encoding="utf-8")
    return path


@pytest.fixture
def documents(examples: Path) -> list[Document]:
    """The examples that are shipped."""
    return list(read(examples / "documents.jsonl"))


@pytest.fixture
def pages(tmp_path: Path, documents: list[Document]) -> list[Path]:
    """Two files of pages to pre-train on."""
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    for name, file in zip("ab", files, strict=True):
        write((replace(documents[i % 2], id=f"{name}{i}") for i in range(9)), file)
    return files


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Tokenizer:
    file = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    file.write_text("\n".join(WORDS))
    return load_tokenizer(file)


@pytest.fixture(scope="session")
def model(tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that has learned nothing, but finds something."""
    torch.manual_seed(1)
    labels = labels_of({"": TagScheme(("company", "date", "total"))})
    config = FormNetConfig.of_size("tiny", vocab_size=len(WORDS), attention_backend="blocked", **labels)
    network = FormNetForTokenClassification(config).eval()
    with torch.no_grad():
        network.classifier.weight.normal_(std=0.5)
        network.classifier.bias[0] = -1.0
    folder = tmp_path_factory.mktemp("model")
    Extractor(network, tokenizer).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def extractor(model: Path) -> Extractor:
    return Extractor.from_pretrained(model)


@pytest.fixture
def pdf(tmp_path: Path) -> Path:
    file = tmp_path / "invoice.pdf"
    file.write_bytes(text_pdf([LINES, ("Page two",)]))
    return file
