"""Files of structured output: JSON, CSV and spreadsheets."""

import csv
import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

from formnet.document import Document
from formnet.document.values.parse import parse_number
from formnet.errors import SettingsError
from formnet.extraction.fields import plain_values
from formnet.extraction.output import DocumentOutput, to_output
from formnet.extraction.schema import Schema
from formnet.extraction.tables import Cell, Row, date_columns, document_columns, document_row, item_columns, item_rows


class JsonWriter:
    """Write documents as a JSON list or as JSON lines, flushing after each, so that a long run can be followed."""

    def __init__(self, file: TextIO, schema: Schema, *, lines: bool = False, plain: bool = False) -> None:
        """Write to a file; with `plain`, only the values of fields."""
        self.file, self.schema, self.lines, self.plain, self.count = file, schema, lines, plain, 0

    def write(self, document: Document) -> None:
        """Write one document."""
        data = self._to_json(to_output(document, self.schema))
        if self.lines:
            self.file.write(json.dumps(data, ensure_ascii=False) + "\n")
        else:
            text = json.dumps(data, ensure_ascii=False, indent=2)
            self.file.write(("[\n" if self.count == 0 else ",\n") + text)
        self.count += 1
        self.file.flush()

    def _to_json(self, output: DocumentOutput) -> dict[str, Any]:
        if self.plain:
            facts = {"document": output.document, "type": output.type, "currency": output.currency}
            known = {name: value for name, value in facts.items() if value is not None}
            return {**known, **plain_values(output.fields)}
        return output.model_dump(mode="json")

    def close(self) -> None:
        """Close the list."""
        if not self.lines:
            self.file.write("[]\n" if self.count == 0 else "\n]\n")
            self.file.flush()


class CsvWriter:
    """Write one row per document and, to another file, one row per item."""

    def __init__(self, file: TextIO, schema: Schema, items: TextIO | None = None, *, header: bool = True) -> None:
        """Write to files; without a header, rows are added to those that the files have."""
        self.file, self.schema, self.items = file, schema, items
        if header:
            csv.writer(file).writerow(document_columns(schema))
            if items is not None:
                csv.writer(items).writerow(item_columns(schema))

    def write(self, document: Document) -> None:
        """Write one document."""
        self.write_output(to_output(document, self.schema))

    def write_output(self, output: DocumentOutput) -> None:
        """Write the output of one document."""
        _write_row(self.file, document_row(output, self.schema))
        if self.items is not None:
            for row in item_rows(output, self.schema):
                _write_row(self.items, row)

    def close(self) -> None:
        """Do nothing: rows are complete when written."""


def _write_row(file: TextIO, row: Row) -> None:
    csv.writer(file).writerow(map(escape_formula, row.values()))
    file.flush()


class XlsxWriter:
    """Write a spreadsheet with a sheet of documents and a sheet of items."""

    @staticmethod
    def check_installed() -> None:
        """Raise `SettingsError` if the package that writes spreadsheets is missing."""
        if find_spec("xlsxwriter") is None:
            raise SettingsError("spreadsheets need another package. Run pip install 'formnet[xlsx]'.")

    def __init__(self, file: Path, schema: Schema) -> None:
        self.check_installed()
        from xlsxwriter import Workbook

        self.schema = schema
        # Values are never formulas or links, whatever a document prints.
        options = {"strings_to_formulas": False, "strings_to_urls": False, "constant_memory": False}
        self.workbook = Workbook(str(file), options)
        self.date_format = self.workbook.add_format({"num_format": "yyyy-mm-dd"})
        dates = date_columns(schema)
        self.documents = _Sheet(self.workbook, "documents", document_columns(schema), dates, self.date_format)
        columns = item_columns(schema)
        self.items = _Sheet(self.workbook, "items", columns, dates, self.date_format) if columns else None

    def write(self, document: Document) -> None:
        """Write one document."""
        self.write_output(to_output(document, self.schema))

    def write_output(self, output: DocumentOutput) -> None:
        """Write the output of one document."""
        self.documents.add(document_row(output, self.schema))
        if self.items is not None:
            for row in item_rows(output, self.schema):
                self.items.add(row)

    def close(self) -> None:
        """Write the file."""
        for sheet in filter(None, (self.documents, self.items)):
            sheet.finish()
        self.workbook.close()


class _Sheet:
    """A sheet with a header that stays in view, filters, and columns as wide as their content."""

    _MAX_WIDTH = 60
    _MAX_ROWS = 1_048_576

    def __init__(
        self, workbook: Any, name: str, columns: Sequence[str], dates: Collection[str], date_format: Any
    ) -> None:
        self.sheet, self.columns, self.date_format, self.count = workbook.add_worksheet(name), columns, date_format, 0
        self.has_dates = [column in dates for column in columns]
        bold = workbook.add_format({"bold": True})
        for number, column in enumerate(columns):
            self.sheet.write_string(0, number, column, bold)
        self.sheet.freeze_panes(1, 1)
        self.widths = [len(column) for column in columns]

    def add(self, row: Row) -> None:
        self.count += 1
        if self.count >= self._MAX_ROWS:
            raise SettingsError(f"a spreadsheet has at most {self._MAX_ROWS:,} rows. Write a CSV file instead.")
        for number, column in enumerate(self.columns):
            self._write(number, row[column])
            self.widths[number] = min(max(self.widths[number], len(str(row[column] or ""))), self._MAX_WIDTH)

    def _write(self, column: int, cell: Cell) -> None:
        if cell is None or cell == "":
            return
        if isinstance(cell, int | float):
            self.sheet.write_number(self.count, column, cell)
        elif self.has_dates[column] and _DATE.fullmatch(cell) and cell >= "1900-03-01":  # programs differ before
            self.sheet.write_datetime(self.count, column, date.fromisoformat(cell), self.date_format)
        else:
            self.sheet.write_string(self.count, column, cell)

    def finish(self) -> None:
        for number, width in enumerate(self.widths):
            self.sheet.set_column(number, number, width + 2)
        self.sheet.autofilter(0, 0, self.count, len(self.columns) - 1)


#: A cell may also contain several dates, separated by semicolons.
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
#: A formula after a character that spreadsheets take for a separator in some locales.
_LATER_FORMULA = re.compile(r"([;\t|])(?=\s*[=+@\-])")


def escape_formula(cell: Any) -> Any:
    """Quote a cell, or the part of a cell after another separator, that a spreadsheet would take for a formula."""
    if not isinstance(cell, str):
        return cell
    cell = _LATER_FORMULA.sub(r"\1'", cell)
    first = unicodedata.normalize("NFKC", cell.lstrip()[:1])
    is_formula = first in ("=", "+", "@") or cell[:1] in ("\t", "\r", "\n")
    is_formula = is_formula or (first == "-" and parse_number(cell) is None)
    return f"'{cell}" if is_formula else cell
