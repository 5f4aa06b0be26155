"""Documents with a table of field values, for tests of the `values` corpus and of writers."""

from pathlib import Path

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.io.writers import write


def make_document(name: str, *words: str) -> Document:
    """Return a document with one line of words."""
    builder = DocumentBuilder(name)
    builder.add_page(words, [[20 * i, 10, 20 * i + 15, 20] for i in range(len(words))], 500, 100, confidences=None)
    return builder.build()


def make_folder(parent: Path) -> Path:
    """Return a folder with one document, another in a subfolder, and a third outside of the folder."""
    (parent / "table" / "scans").mkdir(parents=True)
    write([make_document("first", "Total", "9.00", "4", "March", "2019")], parent / "table" / "a.jsonl")
    write([make_document("second", "Sum:", "1.234,50")], parent / "table" / "scans" / "b.jsonl")
    write([make_document("outside", "9.00")], parent / "outside.jsonl")
    return parent / "table"


def write_table(folder: Path, *rows: str, name: str = "values.csv", encoding: str = "utf-8") -> Path:
    """Write rows of CSV and return the file."""
    file = folder / name
    file.write_bytes("\r\n".join(rows).encode(encoding))
    return file
