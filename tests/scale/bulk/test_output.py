from typing import Annotated, Literal

import pyarrow as pa
import pytest
from pyarrow.parquet import read_table
from pydantic import BaseModel, Field

from formnet.extraction.output import EntityOutput
from formnet.scale.bulk.output import BulkRow, arrow_type, error_row, result_row, row_schema, write_part
from formnet.scale.bulk.storage import storage_path
from linked_receipts import SCHEMA, read_receipt
from plain_documents import words_and_boxes


class Inner(BaseModel):
    number: int


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, pa.string()),
        (bool | None, pa.bool_()),
        (Annotated[float, Field(ge=0)] | None, pa.float64()),
        (Literal["a", "b"], pa.string()),
        (list[tuple[float, float]], pa.list_(pa.list_(pa.float64()))),
        (list[Inner] | None, pa.list_(pa.struct([("number", pa.int32())]))),
    ],
)
def test_arrow_type_of_annotation(annotation: object, expected: pa.DataType) -> None:
    assert arrow_type(annotation) == expected


def test_schema_of_entities_follows_output_model() -> None:
    entity = row_schema(SCHEMA).field("entities").type.value_type
    assert [field.name for field in entity] == list(EntityOutput.model_fields)
    assert [field.name for field in entity.field("value").type] == ["kind", "value", "currency", "ambiguous"]


def test_write_part_round_trips_rows(tmp_path: object) -> None:
    output = storage_path(str(tmp_path))
    for name in ("entities", "errors"):
        (output / name).make_folder()
    rows = [result_row(words_and_boxes(), "a.pdf", SCHEMA), error_row(None, "b.pdf", "broken")]
    write_part(output, 7, rows, SCHEMA)
    read = read_table(f"{tmp_path}/entities/part-0000007.parquet").to_pylist()
    assert read[0].pop("fields") == {"items": None, "total": None}
    assert [BulkRow(**row) for row in read] == [rows[0].model_copy(update={"fields": None}), rows[1]]
    errors = read_table(f"{tmp_path}/errors/part-0000007.parquet").to_pylist()
    assert errors == [{"id": None, "source": "b.pdf", "error": "broken"}]
    write_part(output, 7, rows[:1], SCHEMA)
    assert (output / "errors").names() == []


def test_write_part_has_nested_columns_of_fields(tmp_path: object) -> None:
    output = storage_path(str(tmp_path))
    for name in ("entities", "errors"):
        (output / name).make_folder()
    write_part(output, 0, [result_row(read_receipt(2), "a.pdf", SCHEMA), error_row(None, "b", "broken")], SCHEMA)
    table = read_table(f"{tmp_path}/entities/part-0000000.parquet")
    first, second = table.column("fields").to_pylist()
    assert second is None
    assert first["total"] == {"value": 2.0, "text": "2.00", "key_text": "Total:", "score": 0.9, "review": False}
    assert [(item["description"]["value"], item["quantity"]["value"]) for item in first["items"]] == [
        ("Tea", 1.0), ("Cake", 2.0)
    ]  # fmt: skip
    assert first["items"][1]["modifiers"][0]["description"]["text"] == "extra milk"
    assert [check["status"] for check in table.column("checks").to_pylist()[0]] == ["passed"]
