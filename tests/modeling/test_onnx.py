"""An exported model gives the same scores and entities as the model it was exported from."""

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from command_line import runner
from formnet.cli import app
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.modeling.onnx import quantize

pytestmark = pytest.mark.slow  # tracing for the export


def make_document(words: int) -> Document:
    generator = np.random.default_rng(words)
    builder = DocumentBuilder(f"{words}")
    low = generator.uniform(0, 90, (words, 2))
    texts = ["".join(generator.choice(list("abc019./"), 4)) for _ in range(words)]
    builder.add_page(texts, np.concatenate([low, low + 5], axis=1).tolist(), 100, 100)
    return builder.build()


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return [make_document(words) for words in (1, 2, 7, 60)]


@pytest.fixture(scope="module")
def exported(model: Path, extractor: Extractor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the exported model, which has a schema."""
    folder = tmp_path_factory.mktemp("onnx")
    with_schema = shutil.copytree(model, tmp_path_factory.mktemp("model") / "with-schema")
    extractor.schema.save(with_schema)
    result = runner.invoke(app, ["export", str(with_schema), str(folder)])
    assert result.exit_code == 0, result.output
    return folder


def test_export_onnx_gives_equal_scores_at_any_length(
    extractor: Extractor, exported: Path, documents: list[Document]
) -> None:
    onnx = Extractor.from_pretrained(exported)
    assert onnx.schema == extractor.schema
    assert onnx.typed_fields
    for expected, scores in zip(extractor.scores(documents), onnx.scores(documents), strict=True):
        assert np.abs(expected - scores).max() < 1e-4
    expected_entities, entities = extractor.entities(documents), onnx.entities(documents)
    assert [[(e.label, e.words) for e in found] for found in expected_entities] == [
        [(e.label, e.words) for e in found] for found in entities
    ]


def test_quantize_gives_similar_scores(
    extractor: Extractor,
    exported: Path,
    documents: list[Document],
    tmp_path: Path,
) -> None:
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((exported / name).read_bytes())
    quantize(exported / "model.onnx", tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").stat().st_size < (exported / "model.onnx").stat().st_size
    int8 = Extractor.from_pretrained(tmp_path)
    for expected, scores in zip(extractor.scores(documents), int8.scores(documents), strict=True):
        assert np.abs(expected - scores).max() < 0.1 * max(np.abs(expected).max(), 1)


def test_onnx_model_unsupported_operations_raise(exported: Path, tmp_path: Path) -> None:
    onnx = Extractor.from_pretrained(exported)
    with pytest.raises(SettingsError, match="Copy its folder"):
        onnx.save_pretrained(tmp_path)
    with pytest.raises(SettingsError, match="has no attention weights"):
        onnx.attention(make_document(3))
    output = runner.invoke(app, ["export", str(exported), str(tmp_path)]).output
    assert "is already exported" in " ".join(output.replace("│", " ").split())  # the message may be wrapped


def test_onnx_model_corrupt_file_or_missing_package_raises(
    model: Path,
    exported: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for file in exported.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.onnx").write_bytes(b"nonsense")
    with pytest.raises(SettingsError, match="cannot load the ONNX model"):
        Extractor.from_pretrained(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(SettingsError, match=r"formnet\[onnx\]"):
        Extractor.from_pretrained(exported)
    failed = runner.invoke(app, ["export", str(model), str(tmp_path)])
    assert isinstance(failed.exception, SettingsError)
