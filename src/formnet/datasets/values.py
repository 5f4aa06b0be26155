"""A table of keyed-in values with the documents beside it, as most people have them.

    file,total,date
    scans/a.pdf,9.00,2019-03-04
    scans/b.png,12.50,2019-03-05

A row a document; every other column is a field. Without a column `file` a column `id` names a file in the table's
folder, without its suffix. CSV with commas, semicolons or tabs, in UTF-8. `datasets.alignment` finds the words that say
the values.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from formnet.datasets.base import Corpus, by_split
from formnet.document import Document
from formnet.errors import CorpusError, DocumentError, LimitError
from formnet.io.readers import SUFFIXES as READABLE
from formnet.io.readers import read_one

SUFFIXES = (".csv", ".tsv")
LARGEST_TABLE = 64 * 2**20
KEYS = ("file", "id")


class Row(NamedTuple):
    """One row of a table; the header is the first."""

    table: Path
    number: int
    cells: dict[str, str]

    def __str__(self) -> str:
        return f"{self.table}, row {self.number}"


class Values(Corpus):
    """Documents with the values that somebody keyed in."""

    aliases = {"dev": "validation", "val": "validation"}  # noqa: RUF012

    def find_splits(self) -> tuple[str, ...]:
        """Name the tables that are there by their stems."""
        return tuple(self._tables())

    def expected(self) -> str:
        """Say what should have been there."""
        return f"is no table of values, and no folder with one; expected {' or '.join(SUFFIXES)}."

    def sources(self, split: str) -> Iterator[Row]:
        """List a table's rows."""
        return read_rows(self._tables()[split])

    def parse(self, source: Row) -> Document:
        """Read the document that a row names, and give it the row's values."""
        file = self._file(source)
        document = read_one(file)
        fields = {name: value for name, value in source.cells.items() if name not in KEYS and value}
        name = source.cells.get("id") or source.cells.get("file") or document.id
        return replace(document, id=name, fields=fields)

    def _file(self, row: Row) -> Path:
        """Find the document of a row in the table's folder or below it, and nowhere else."""
        folder = row.table.parent.resolve()
        name = row.cells.get("file")
        if name:
            file = (folder / name.replace("\\", "/")).resolve()
        else:
            name = row.cells["id"]
            found = self._beside.get(name, [])
            if len(found) != 1:
                what = f"{len(found)} files are" if found else "no file is"
                raise DocumentError(f"{what} called {name!r} in {folder}; name the right one in a column 'file'.")
            file = found[0].resolve()
        if not file.is_relative_to(folder):
            raise DocumentError(f"{name!r} is outside of {folder}; put documents beside the table or below it.")
        if not file.is_file():
            raise DocumentError(f"{name!r} is not in {folder}; correct the name or remove the row.")
        return file

    @cached_property
    def _beside(self) -> dict[str, list[Path]]:
        """The documents in the table's folder by name, with suffix and without."""
        files: dict[str, list[Path]] = {}
        for file in (self.path.parent if self.path.is_file() else self.path).iterdir():
            suffix = next((suffix for suffix in READABLE if file.name.lower().endswith(suffix)), None)
            if suffix:
                files.setdefault(file.name, []).append(file)
                files.setdefault(file.name[: -len(suffix)], []).append(file)
        return files

    def _tables(self) -> dict[str, Path]:
        files = [self.path] if self.path.is_file() else sorted(self.path.iterdir())
        return by_split((file.stem, file) for file in files if file.suffix.lower() in SUFFIXES)


def read_rows(table: Path) -> Iterator[Row]:
    """Give the rows of a table by column; blank ones are passed over."""
    header, rows = _rows(table)
    seen: dict[str, int] = {}
    for number, cells in enumerate(rows, 2):
        values = [cell.strip() for cell in cells]
        if not any(values):
            continue
        if any(values[len(header) :]) or any(v for name, v in zip(header, values, strict=False) if not name):
            raise CorpusError(
                f"{table}, row {number}: has a value in a column without name; "
                "name the column, or put quotes around a value that holds the separator."
            )
        row = Row(table, number, {name: value for name, value in zip(header, values, strict=False) if name})
        key = row.cells.get("file") or row.cells.get("id")
        if not key:
            raise CorpusError(f"{row}: names no document; fill in the column {_key(header)!r}.")
        if key in seen:
            raise CorpusError(f"{row}: {key!r} is in row {seen[key]} already; a document has one row.")
        seen[key] = number
        yield row


def _rows(table: Path) -> tuple[list[str], Iterator[list[str]]]:
    """Open a table: the names of its columns, and its rows."""
    if table.stat().st_size > LARGEST_TABLE:
        raise LimitError(f"{table}: is larger than {LARGEST_TABLE >> 20} MiB; split it.")
    try:
        text = table.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{table}: is not UTF-8; save it as CSV UTF-8.") from error
    header, rows = _split(text, table)
    twice = [name for name, count in Counter(header).items() if name and count > 1]
    if twice:
        raise CorpusError(f"{table}: has two columns {twice[0]!r}; rename one.")
    if not set(header) - {*KEYS, ""}:
        raise CorpusError(f"{table}: has no column of values beside {_key(header)!r}.")
    return header, rows


def _split(text: str, table: Path) -> tuple[list[str], Iterator[list[str]]]:
    """Split a table by the separator that gives it a column for documents."""
    for separator in ",;\t":
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            header = [name.strip() for name in next(rows, [])]
        except csv.Error:
            continue
        header = [name.lower() if name.lower() in KEYS else name for name in header]
        if not set(KEYS).isdisjoint(header):
            return header, _checked(rows, table)
    raise CorpusError(f"{table}: its first row names no column 'file' or 'id', by which documents are found.")


def _checked(rows: Iterator[list[str]], table: Path) -> Iterator[list[str]]:
    number = 1
    try:
        for row in rows:
            number += 1
            yield row
    except csv.Error as error:
        raise CorpusError(f"{table}, row {number + 1}: cannot be read as CSV: {error}.") from error


def _key(header: list[str]) -> str:
    return "file" if "file" in header else "id"


CORPUS = Values
