"""Documents with a table of field values, such as a spreadsheet exported as CSV.

    file,total,date
    scans/a.pdf,9.00,2019-03-04
    scans/b.png,12.50,2019-03-05

One row per document; all columns other than `file` and `id` are fields. Paths in `file` are relative to the table.
Without a column `file`, `id` is the name of a file in the folder of the table, with or without suffix. The table is
UTF-8 text separated by commas, semicolons or tabs. `datasets.alignment` locates the values in the words.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from formnet.datasets.base import Corpus, files_by_split
from formnet.document import Document
from formnet.errors import CorpusError, DocumentError, LimitError
from formnet.io.file_types import SUFFIXES as READABLE
from formnet.io.readers import read_one

SUFFIXES = (".csv", ".tsv")
#: Maximum size of a table in bytes.
MAX_TABLE_BYTES = 64 * 2**20
#: Columns that identify the document of a row.
KEY_COLUMNS = ("file", "id")


class TableRow(NamedTuple):
    """One row of a table; the header is row 1."""

    table: Path
    number: int
    cells: dict[str, str]

    def __str__(self) -> str:
        return f"{self.table}, row {self.number}"


class Values(Corpus):
    """Documents with field values from a table."""

    aliases = {"dev": "validation", "val": "validation"}  # noqa: RUF012

    def find_splits(self) -> tuple[str, ...]:
        """Return the stems of the tables."""
        return tuple(self._tables())

    def expected(self) -> str:
        """Return the error message for a path without tables."""
        return f"no table of values found. Expected a {' or '.join(SUFFIXES)} file, or a folder with one per split."

    def sources(self, split: str) -> Iterator[TableRow]:
        """Yield the rows of the split's table."""
        return read_rows(self._tables()[split])

    def parse(self, source: TableRow) -> Document:
        """Read the document of a row and set its fields to the values of the row."""
        file = self._file(source)
        document = read_one(file)
        fields = {name: value for name, value in source.cells.items() if name not in KEY_COLUMNS and value}
        name = source.cells.get("id") or source.cells.get("file") or document.id
        return replace(document, id=name, fields=fields)

    def _file(self, row: TableRow) -> Path:
        """Return the file of a row, which must be in the folder of the table or below it."""
        folder = row.table.parent.resolve()
        name = row.cells.get("file")
        if name:
            file = (folder / name.replace("\\", "/")).resolve()
        else:
            name = row.cells["id"]
            candidates = self._files_by_name.get(name, [])
            if len(candidates) != 1:
                count = f"{len(candidates)} files" if candidates else "no file"
                raise DocumentError(f"{count} named {name!r} in {folder}. Add a column 'file' with the file name.")
            file = candidates[0].resolve()
        if not file.is_relative_to(folder):
            raise DocumentError(f"{name!r} is outside of {folder}. Move the file to the folder of the table or below.")
        if not file.is_file():
            raise DocumentError(f"{name!r} not found in {folder}. Correct the name or remove the row.")
        return file

    @cached_property
    def _files_by_name(self) -> dict[str, list[Path]]:
        """Files in the folder of the table, keyed by name with and without suffix."""
        files: dict[str, list[Path]] = {}
        for file in (self.path.parent if self.path.is_file() else self.path).iterdir():
            suffix = next((suffix for suffix in READABLE if file.name.lower().endswith(suffix)), None)
            if suffix:
                files.setdefault(file.name, []).append(file)
                files.setdefault(file.name[: -len(suffix)], []).append(file)
        return files

    def _tables(self) -> dict[str, Path]:
        files = [self.path] if self.path.is_file() else sorted(self.path.iterdir())
        return files_by_split((file.stem, file) for file in files if file.suffix.lower() in SUFFIXES)


def read_rows(table: Path) -> Iterator[TableRow]:
    """Yield the rows of a table; blank rows are skipped."""
    header, rows = _open_table(table)
    first_rows: dict[str, int] = {}
    for number, cells in enumerate(rows, 2):
        values = [cell.strip() for cell in cells]
        if not any(values):
            continue
        if any(values[len(header) :]) or any(v for name, v in zip(header, values, strict=False) if not name):
            raise CorpusError(
                f"{table}, row {number}: value in a column without a name. "
                "Name the column, or quote values that contain the separator."
            )
        row = TableRow(table, number, {name: value for name, value in zip(header, values, strict=False) if name})
        key = row.cells.get("file") or row.cells.get("id")
        if not key:
            raise CorpusError(f"{row}: no document given. Fill in the column {_key_column(header)!r}.")
        if key in first_rows:
            raise CorpusError(f"{row}: {key!r} is already in row {first_rows[key]}. Keep one row per document.")
        first_rows[key] = number
        yield row


def _open_table(table: Path) -> tuple[list[str], Iterator[list[str]]]:
    """Return the column names and the rows of a table."""
    if table.stat().st_size > MAX_TABLE_BYTES:
        raise LimitError(f"{table}: larger than {MAX_TABLE_BYTES >> 20} MiB. Split the table.")
    try:
        text = table.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{table}: not UTF-8. Save the table as CSV UTF-8.") from error
    header, rows = _parse_table(text, table)
    duplicates = [name for name, count in Counter(header).items() if name and count > 1]
    if duplicates:
        raise CorpusError(f"{table}: two columns named {duplicates[0]!r}. Rename one.")
    if not set(header) - {*KEY_COLUMNS, ""}:
        raise CorpusError(f"{table}: no columns of values next to {_key_column(header)!r}. Add one column per field.")
    return header, rows


def _parse_table(text: str, table: Path) -> tuple[list[str], Iterator[list[str]]]:
    """Parse a table with the first separator that yields a column `file` or `id`."""
    for separator in ",;\t":
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            header = [name.strip() for name in next(rows, [])]
        except csv.Error:
            continue
        header = [name.lower() if name.lower() in KEY_COLUMNS else name for name in header]
        if not set(KEY_COLUMNS).isdisjoint(header):
            return header, _check_rows(rows, table)
    raise CorpusError(f"{table}: no column 'file' or 'id' in the first row. Add one to identify the documents.")


def _check_rows(rows: Iterator[list[str]], table: Path) -> Iterator[list[str]]:
    """Yield rows; raise `CorpusError` with the row number for invalid CSV."""
    number = 1
    try:
        for row in rows:
            number += 1
            yield row
    except csv.Error as error:
        raise CorpusError(f"{table}, row {number + 1}: invalid CSV: {error}.") from error


def _key_column(header: list[str]) -> str:
    return "file" if "file" in header else "id"


CORPUS = Values
