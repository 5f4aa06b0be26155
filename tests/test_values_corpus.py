import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from formnet import DocumentBuilder, align, open_corpus, read
from formnet.cli import app
from formnet.datasets import values
from formnet.document import Document
from formnet.errors import CorpusError, DocumentError, LimitError
from formnet.io.writers import write


def document(name: str, *words: str) -> Document:
    builder = DocumentBuilder(name)
    builder.add_page(words, [[20 * i, 10, 20 * i + 15, 20] for i in range(len(words))], 500, 100, confidences=None)
    return builder.build()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two documents, one of them in a folder below, and one outside."""
    (tmp_path / "table" / "scans").mkdir(parents=True)
    write([document("first", "Total", "9.00", "4", "March", "2019")], tmp_path / "table" / "a.jsonl")
    write([document("second", "Sum:", "1.234,50")], tmp_path / "table" / "scans" / "b.jsonl")
    write([document("outside", "9.00")], tmp_path / "outside.jsonl")
    return tmp_path / "table"


def table(folder: Path, *rows: str, name: str = "values.csv", encoding: str = "utf-8") -> Path:
    file = folder / name
    file.write_bytes("\r\n".join(rows).encode(encoding))
    return file


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_values_become_fields(folder: Path, separator: str, encoding: str) -> None:
    rows = ["File,total,date", "a.jsonl,9.00,2019-03-04", ",,", 'scans\\b.jsonl,"1234.50", ']
    file = table(folder, *(row.replace(",", separator) for row in rows), encoding=encoding)
    corpus = open_corpus(f"values:{file}")
    documents = list(corpus)
    assert len(corpus) == 2
    assert [(d.id, d.fields) for d in documents] == [
        ("a.jsonl", {"total": "9.00", "date": "2019-03-04"}),
        ("scans\\b.jsonl", {"total": "1234.50"}),
    ]
    found = [{e.label: e.text for e in align(d).document.entities} for d in documents]
    assert found == [{"total": "9.00", "date": "4 March 2019"}, {"total": "1.234,50"}]
    assert list(open_corpus(f"values:{folder}@values")) == documents


def test_documents_may_be_named_by_id(folder: Path) -> None:
    file = table(folder, "id,total", "a,9.00")
    assert [(d.id, dict(d.fields)) for d in open_corpus(f"values:{file}")] == [("a", {"total": "9.00"})]
    table(folder, "id,file,total", "x,scans/b.jsonl,9.00")
    assert [d.id for d in open_corpus(f"values:{file}")] == ["x"]


def test_values_may_hold_separators_and_lines(folder: Path) -> None:
    file = table(folder, "file;note", 'a.jsonl;"1; ""2""\n3"', "", "scans/b.jsonl;x")
    rows = list(values.read_rows(file))
    assert rows[0].cells["note"] == '1; "2"\n3'
    assert [row.number for row in rows] == [2, 4]


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["", "a"], "no column 'file' or 'id'"),
        (["name,total", "a,1"], "no column 'file' or 'id'"),
        (["file", "a.jsonl"], "no column of values beside 'file'"),
        (["file,total,total", "a.jsonl,1,2"], "two columns 'total'"),
        (["file,total", ",1"], "row 2: names no document; fill in the column 'file'"),
        (["id,total", "a,1", "a,2"], "row 3: 'a' is in row 2 already"),
        (["file,total", "a.jsonl,1,234"], "row 2: has a value in a column without name"),
        (["file,total,", "a.jsonl,1,2"], "row 2: has a value in a column without name"),
        (["file,total", 'a.jsonl,"1'], "row 2: cannot be read as CSV"),
        (["file,total", 'a.jsonl,"1"2'], "row 2: cannot be read as CSV"),
    ],
)
def test_tables_that_cannot_be_read(folder: Path, rows: list[str], says: str) -> None:
    with pytest.raises(CorpusError) as refusal:
        list(open_corpus(f"values:{table(folder, *rows)}"))
    assert says in str(refusal.value)
    assert "values.csv" in str(refusal.value)


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        (["file,total", "../outside.jsonl,1"], "is outside of"),
        (["file,total", "..\\outside.jsonl,1"], "is outside of"),
        (["file,total", "/etc/passwd,1"], "is outside of"),
        (["file,total", "link.jsonl,1"], "is outside of"),
        (["id,total", "link,1"], "is outside of"),
        (["file,total", "c.jsonl,1"], "correct the name or remove the row"),
        (["file,total", "scans,1"], "correct the name or remove the row"),
        (["file,total", "a\0b,1"], "null"),
        (["file,total", "x" * 5000 + ",1"], "too long"),
        (["file,total", "values.csv,1"], "none of the kinds"),
        (["file,total", "both.jsonl,1"], "holds several documents"),
        (["id,total", "c,1"], "no file is called 'c'"),
        (["id,total", "both,1"], "2 files are called 'both'"),
    ],
)
def test_documents_that_cannot_be_read(folder: Path, rows: list[str], says: str) -> None:
    (folder / "link.jsonl").symlink_to(folder.parent / "outside.jsonl")
    write([document("one", "a"), document("two", "b")], folder / "both.jsonl")
    (folder / "both.pdf").write_bytes(b"")
    with pytest.raises(DocumentError) as refusal:
        list(open_corpus(f"values:{table(folder, *rows)}"))
    assert says in str(refusal.value)
    assert "values.csv, row 2: " in str(refusal.value)


def test_other_files_are_no_tables(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorpusError, match="is no table of values"):
        open_corpus(f"values:{folder}")
    with pytest.raises(CorpusError, match="not UTF-8"):
        list(open_corpus(f"values:{table(folder, 'file,total', 'é.pdf,1', encoding='latin-1')}"))
    monkeypatch.setattr(values, "LARGEST_TABLE", 3)
    with pytest.raises(LimitError):
        list(open_corpus(f"values:{folder}"))


@given(st.text(), st.sampled_from(["", "file,a\n", "id;a\n", '"file"\t"a"\n']))
def test_any_text_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str, header: str) -> None:
    file = tmp_path_factory.getbasetemp() / "any.csv"
    file.write_bytes((header + text).encode("utf-8", "replace"))
    try:
        rows = list(values.read_rows(file))
    except CorpusError:
        return
    for row in rows:
        assert row.cells.get("file") or row.cells.get("id")


def test_parquet_is_read_back(folder: Path, examples: Path) -> None:
    pytest.importorskip("pyarrow")
    out = folder / "out.parquet"
    table(folder, "file,total", "a.jsonl,9.00", "scans/b.jsonl,1234.50")
    said = CliRunner().invoke(app, ["data", "convert", f"values:{folder}", str(out), "--align"])
    assert "2 documents" in said.output
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


def test_names_say_what_is_written(folder: Path) -> None:
    with pytest.raises(DocumentError, match="the name should end in"):
        write([], folder / "x.txt")
    assert write([], folder / "x.label-studio.json") == 0
    assert json.loads((folder / "x.label-studio.json").read_text()) == []


def test_nothing_is_left_of_a_file_that_fails(folder: Path) -> None:
    def failing() -> Any:
        yield document("one", "a")
        raise DocumentError("no")

    before = sorted(folder.iterdir())
    for name in ("x.parquet", "x.jsonl", "x.label-studio.json"):
        with pytest.raises(DocumentError):
            write(failing(), folder / name)
    assert sorted(folder.iterdir()) == before
