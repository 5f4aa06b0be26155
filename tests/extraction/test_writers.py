import csv
import json
from dataclasses import replace
from datetime import datetime
from io import StringIO
from pathlib import Path

from openpyxl import load_workbook

from formnet.document import Document
from formnet.document.values.normalize import normalize_as
from formnet.extraction.schema import FieldSchema, Schema
from formnet.extraction.writers import CsvWriter, JsonWriter, XlsxWriter, escape_formula
from linked_receipts import SCHEMA, read_receipt
from plain_documents import words_and_boxes


def write_all(writer: JsonWriter | CsvWriter | XlsxWriter, *documents: Document) -> None:
    for document in documents:
        writer.write(document)
    writer.close()


def test_json_writer_writes_documents_or_their_values() -> None:
    for lines in (False, True):
        file = StringIO()
        write_all(JsonWriter(file, SCHEMA, lines=lines, plain=True), read_receipt(1), read_receipt(1))
        text = file.getvalue()
        documents = [json.loads(line) for line in text.splitlines()] if lines else json.loads(text)
        item = {"description": "Tea", "quantity": 1, "total": 0.5}
        assert documents == [{"document": "receipt", "items": [item], "total": 1.0}] * 2
    file = StringIO()
    write_all(JsonWriter(file, SCHEMA), read_receipt(1))
    (document,) = json.loads(file.getvalue())
    assert document["fields"]["total"]["key_text"] == "Total:"
    assert document["entities"][0]["owner"] == 1
    empty = StringIO()
    write_all(JsonWriter(empty, SCHEMA))
    assert json.loads(empty.getvalue()) == []


def test_csv_writer_writes_a_row_per_document_and_per_item() -> None:
    documents, items = StringIO(), StringIO()
    write_all(CsvWriter(documents, SCHEMA, items), read_receipt(2), read_receipt(1))
    assert [row["total"] for row in csv.DictReader(StringIO(documents.getvalue()))] == ["2.0", "1.0"]
    rows = list(csv.DictReader(StringIO(items.getvalue())))
    assert [(row["item"], row["description"]) for row in rows] == [("1", "Tea"), ("2", "Cake"), ("1", "Tea")]


def test_xlsx_writer_has_two_sheets_with_numbers_and_dates(tmp_path: Path) -> None:
    write_all(XlsxWriter(tmp_path / "a.xlsx", SCHEMA), read_receipt(2))
    book = load_workbook(tmp_path / "a.xlsx")
    assert book.sheetnames == ["documents", "items"]
    assert [cell.value for cell in book["documents"][2]] == ["receipt", None, 2, None, None]
    assert [cell.value for cell in book["items"][3]] == ["receipt", "items", 2, "Cake", 2, 1.5, "extra milk", None]
    schema = Schema(fields=(FieldSchema(label="date", path="date", type="date"),))
    document = words_and_boxes("dated", "2024-06-14")
    entity = replace(document.entity("date", [0], 0.9), value=normalize_as("2024-06-14", "date"))
    write_all(XlsxWriter(tmp_path / "b.xlsx", schema), replace(document, entities=(entity,)))
    (_, row) = load_workbook(tmp_path / "b.xlsx")["documents"].iter_rows(values_only=True)
    assert row[2] == datetime(2024, 6, 14)


def test_xlsx_writer_writes_codes_that_look_like_dates_as_text(tmp_path: Path) -> None:
    schema = Schema(fields=(FieldSchema(label="number", path="number", type="code"),))
    for text in ("2024-13-05", "2024-05-17"):
        document = words_and_boxes("numbered", text)
        entity = replace(document.entity("number", [0], 0.9), value=normalize_as(text, "identifier"))
        write_all(XlsxWriter(tmp_path / "a.xlsx", schema), replace(document, entities=(entity,)))
        (_, row) = load_workbook(tmp_path / "a.xlsx")["documents"].iter_rows(values_only=True)
        assert row[2] == text


def test_xlsx_writer_never_writes_formulas(tmp_path: Path) -> None:
    document = words_and_boxes("=1+1", '=HYPERLINK("http://evil.example")')
    schema = Schema(fields=(FieldSchema(label="note", path="note"),))
    write_all(XlsxWriter(tmp_path / "a.xlsx", schema), replace(document, entities=(document.entity("note", [0], 0.9),)))
    row = load_workbook(tmp_path / "a.xlsx")["documents"][2]
    assert [cell.data_type for cell in row[:3]] == ["s", "n", "s"]  # the second is empty
    assert row[2].value == '=HYPERLINK("http://evil.example")'


def test_escape_formula_quotes_formulas_only() -> None:
    cells = ("=1+1", "@x", "-5.00", "RM 5", 3)
    assert [escape_formula(cell) for cell in cells] == ["'=1+1", "'@x", "-5.00", "RM 5", 3]
    assert escape_formula("-1+cmd|' /C calc'!A0").startswith("'")
    assert escape_formula("Elm; =1+1;-2;x") == "Elm;' =1+1;'-2;x"
    assert [escape_formula(cell)[0] for cell in ("\n=1+1", "\uff1d1+1", " +1")] == ["'"] * 3
