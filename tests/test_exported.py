"""The network as ONNX: the same scores, entities and errors as the one it was written from."""

import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from formnet.cli import app
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.modeling.onnx import quantize

run = CliRunner()


def document_of(words: int) -> Document:
    generator = np.random.default_rng(words)
    builder = DocumentBuilder(f"{words}")
    low = generator.uniform(0, 90, (words, 2))
    texts = ["".join(generator.choice(list("abc019./"), 4)) for _ in range(words)]
    builder.add_page(texts, np.concatenate([low, low + 5], axis=1).tolist(), 100, 100)
    return builder.build()


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [document_of(words) for words in (1, 2, 7, 60)]


@pytest.fixture(scope="module")
def whole(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("onnx")
    done = run.invoke(app, ["export", str(model), str(folder)])
    assert done.exit_code == 0, done.output
    return folder


def test_scores_are_the_same_at_any_length(extractor: Extractor, whole: Path, documents: list[Document]) -> None:
    exported = Extractor.from_pretrained(whole)
    for one, other in zip(extractor.scores(documents), exported.scores(documents), strict=True):
        assert np.abs(one - other).max() < 1e-4
    ours, theirs = extractor.entities(documents), exported.entities(documents)
    assert [[(e.label, e.words) for e in found] for found in ours] == [
        [(e.label, e.words) for e in found] for found in theirs
    ]


def test_eight_bits_are_nearly_the_same(
    extractor: Extractor,
    whole: Path,
    documents: list[Document],
    tmp_path: Path,
) -> None:
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((whole / name).read_bytes())
    quantize(whole / "model.onnx", tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").stat().st_size < (whole / "model.onnx").stat().st_size
    small = Extractor.from_pretrained(tmp_path)
    for one, other in zip(extractor.scores(documents), small.scores(documents), strict=True):
        assert np.abs(one - other).max() < 0.1 * max(np.abs(one).max(), 1)


def test_an_exported_network_refuses_what_it_cannot(whole: Path, tmp_path: Path) -> None:
    exported = Extractor.from_pretrained(whole)
    with pytest.raises(SettingsError, match="copy its folder"):
        exported.save_pretrained(tmp_path)
    with pytest.raises(SettingsError, match="does not tell where it looks"):
        exported.attention(document_of(3))
    assert "is exported already" in run.invoke(app, ["export", str(whole), str(tmp_path)]).output


def test_broken_graphs_and_missing_packages_are_told(
    model: Path,
    whole: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for file in whole.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.onnx").write_bytes(b"nonsense")
    with pytest.raises(SettingsError, match="no ONNX that can be run"):
        Extractor.from_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(SettingsError, match=r"formnet\[onnx\]"):
        Extractor.from_pretrained(whole)
    failed = run.invoke(app, ["export", str(model), str(tmp_path)])
    assert isinstance(failed.exception, SettingsError)
