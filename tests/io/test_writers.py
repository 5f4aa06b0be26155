import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from formnet import DocumentBuilder, align, open_corpus, read
from formnet.cli import app
from formnet.errors import DocumentError
from formnet.io.writers import write
from values_table import make_document, make_folder, write_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


def test_write_jsonl_round_trips(tmp_path: Path, examples: Path) -> None:
    documents = list(read(examples / "documents.jsonl"))
    for name in ("copy.jsonl", "copy.jsonl.gz"):
        assert write(documents, tmp_path / name) == 2
        assert list(read(tmp_path / name)) == documents


def test_write_parquet_round_trip_preserves_documents(folder: Path, examples: Path) -> None:
    pytest.importorskip("pyarrow")
    out = folder / "out.parquet"
    write_table(folder, "file,total", "a.jsonl,9.00", "scans/b.jsonl,1234.50")
    result = CliRunner().invoke(app, ["data", "convert", f"values:{folder}", str(out), "--align"])
    assert "2 documents" in result.output
    expected = [align(d).document for d in open_corpus(f"values:{folder}")]
    assert list(read(out)) == expected
    builder = DocumentBuilder("every part")
    builder.add_page(
        ["a", "b"], [[0, 0, 1, 1], [2, 2, 3, 3]], 9, 9, confidences=[0.5, 1], image=folder / "x.png", frame=2
    )
    builder.add_page([], [], 5, 5, text_source="me")
    builder.add_entity("x", [0], 0.5)
    builder.add_entity("y", [1, 0])
    builder.add_link(0, 1)
    for documents in (
        [builder.build()],
        [builder.build({"a": "b", "c": "d"}), builder.build({"c": "e"}), builder.build()],
        [],
        list(read(examples / "documents.jsonl"))[:1],
    ):
        assert write(iter(documents), out) == len(documents)
        assert list(read(out)) == documents
    assert sorted(file.name for file in folder.iterdir()) == ["a.jsonl", "out.parquet", "scans", "values.csv"]


def test_write_suffix_selects_format(folder: Path) -> None:
    with pytest.raises(DocumentError, match="file name must end in"):
        write([], folder / "x.txt")
    assert write([], folder / "x.label-studio.json") == 0
    assert json.loads((folder / "x.label-studio.json").read_text()) == []


def test_write_failing_source_leaves_no_file(folder: Path) -> None:
    def failing() -> Any:
        yield make_document("one", "a")
        raise DocumentError("no")

    before = sorted(folder.iterdir())
    for name in ("x.parquet", "x.jsonl", "x.label-studio.json"):
        with pytest.raises(DocumentError):
            write(failing(), folder / name)
    assert sorted(folder.iterdir()) == before
