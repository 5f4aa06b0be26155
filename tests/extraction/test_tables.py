from dataclasses import replace

from formnet.extraction.output import to_output
from formnet.extraction.schema import FieldSchema, Schema
from formnet.extraction.tables import document_columns, document_row, item_columns, item_rows
from linked_receipts import SCHEMA, read_receipt


def test_document_row_has_header_fields_and_what_needs_review() -> None:
    output = to_output(read_receipt(3), SCHEMA)
    row = document_row(output, SCHEMA)
    assert list(row) == document_columns(SCHEMA) == ["document", "currency", "total", "review", "failed_checks"]
    assert row == {"document": "receipt", "currency": None, "total": 3.0, "review": "total", "failed_checks": "items"}


def test_item_rows_have_the_fields_of_items_and_their_modifiers() -> None:
    rows = list(item_rows(to_output(read_receipt(2), SCHEMA), SCHEMA))
    columns = ["document", "list", "item", "description", "quantity", "total", "modifiers.description", "review"]
    assert [list(row) for row in rows] == [columns, columns]
    assert item_columns(SCHEMA) == columns
    assert list(rows[0].values()) == ["receipt", "items", 1, "Tea", 1, 0.5, None, ""]
    assert list(rows[1].values()) == ["receipt", "items", 2, "Cake", 2, 1.5, "extra milk", ""]


def test_document_row_joins_several_values_and_names_columns_by_constants() -> None:
    schema = Schema(
        fields=(
            FieldSchema(label="price", path="payments[].amount", type="amount", constants={"method": "cash"}),
            FieldSchema(label="name", path="notes[]"),
            FieldSchema(label="total", path="seller.total", type="amount"),
        )
    )
    row = document_row(to_output(replace(read_receipt(2), links=()), schema), schema)
    assert row["payments.cash"] == "0.5; 1.5"
    assert row["notes"] == "Tea; Cake"
    assert row["seller.total"] == 2.0
    assert item_columns(schema) == []
