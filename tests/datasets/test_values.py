from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formnet import align, open_corpus
from formnet.datasets import values
from formnet.errors import CorpusError, DocumentError, LimitError
from formnet.io.writers import write
from values_table import make_document, make_folder, write_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_values_any_separator_and_encoding_become_fields(folder: Path, separator: str, encoding: str) -> None:
    rows = ["File,total,date", "a.jsonl,9.00,2019-03-04", ",,", 'scans\\b.jsonl,"1234.50", ']
    file = write_table(folder, *(row.replace(",", separator) for row in rows), encoding=encoding)
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


def test_values_id_column_identifies_documents(folder: Path) -> None:
    file = write_table(folder, "id,total", "a,9.00")
    assert [(d.id, dict(d.fields)) for d in open_corpus(f"values:{file}")] == [("a", {"total": "9.00"})]
    write_table(folder, "id,file,total", "x,scans/b.jsonl,9.00")
    assert [d.id for d in open_corpus(f"values:{file}")] == ["x"]


def test_read_rows_quoted_separators_and_newlines_are_kept(folder: Path) -> None:
    file = write_table(folder, "file;note", 'a.jsonl;"1; ""2""\n3"', "", "scans/b.jsonl;x")
    rows = list(values.read_rows(file))
    assert rows[0].cells["note"] == '1; "2"\n3'
    assert [row.number for row in rows] == [2, 4]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["", "a"], "no column 'file' or 'id'"),
        (["name,total", "a,1"], "no column 'file' or 'id'"),
        (["file", "a.jsonl"], "no columns of values next to 'file'"),
        (["file,total,total", "a.jsonl,1,2"], "two columns named 'total'"),
        (["file,total", ",1"], "row 2: no document given. Fill in the column 'file'"),
        (["id,total", "a,1", "a,2"], "row 3: 'a' is already in row 2"),
        (["file,total", "a.jsonl,1,234"], "row 2: value in a column without a name"),
        (["file,total,", "a.jsonl,1,2"], "row 2: value in a column without a name"),
        (["file,total", 'a.jsonl,"1'], "row 2: invalid CSV"),
        (["file,total", 'a.jsonl,"1"2'], "row 2: invalid CSV"),
    ],
)
def test_values_malformed_table_raises(folder: Path, rows: list[str], message: str) -> None:
    with pytest.raises(CorpusError) as error:
        list(open_corpus(f"values:{write_table(folder, *rows)}"))
    assert message in str(error.value)
    assert "values.csv" in str(error.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["file,total", "../outside.jsonl,1"], "is outside of"),
        (["file,total", "..\\outside.jsonl,1"], "is outside of"),
        (["file,total", "/etc/passwd,1"], "is outside of"),
        (["file,total", "link.jsonl,1"], "is outside of"),
        (["id,total", "link,1"], "is outside of"),
        (["file,total", "c.jsonl,1"], "Correct the name or remove the row"),
        (["file,total", "scans,1"], "Correct the name or remove the row"),
        (["file,total", "a\0b,1"], "null"),
        (["file,total", "x" * 5000 + ",1"], "too long"),
        (["file,total", "values.csv,1"], "unsupported file type"),
        (["file,total", "both.jsonl,1"], "holds several documents"),
        (["id,total", "c,1"], "no file named 'c'"),
        (["id,total", "both,1"], "2 files named 'both'"),
    ],
)
def test_values_unreadable_document_raises_with_row(folder: Path, rows: list[str], message: str) -> None:
    (folder / "link.jsonl").symlink_to(folder.parent / "outside.jsonl")
    write([make_document("one", "a"), make_document("two", "b")], folder / "both.jsonl")
    (folder / "both.pdf").write_bytes(b"")
    with pytest.raises(DocumentError) as error:
        list(open_corpus(f"values:{write_table(folder, *rows)}"))
    assert message in str(error.value)
    assert "values.csv, row 2: " in str(error.value)


def test_values_missing_non_utf8_or_large_table_raises(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CorpusError, match="no table of values found"):
        open_corpus(f"values:{folder}")
    with pytest.raises(CorpusError, match="not UTF-8"):
        list(open_corpus(f"values:{write_table(folder, 'file,total', 'é.pdf,1', encoding='latin-1')}"))
    monkeypatch.setattr(values, "MAX_TABLE_BYTES", 3)
    with pytest.raises(LimitError):
        list(open_corpus(f"values:{folder}"))


@given(st.text(), st.sampled_from(["", "file,a\n", "id;a\n", '"file"\t"a"\n']))
def test_read_rows_any_text_yields_rows_or_raises(
    tmp_path_factory: pytest.TempPathFactory, text: str, header: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.csv"
    file.write_bytes((header + text).encode("utf-8", "replace"))
    try:
        rows = list(values.read_rows(file))
    except CorpusError:
        return
    for row in rows:
        assert row.cells.get("file") or row.cells.get("id")
