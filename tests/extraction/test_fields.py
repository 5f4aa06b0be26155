import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.values.normalize import normalize
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.fields import FieldOutput, plain_values, to_fields
from formnet.extraction.pretrained import AUTO_MODELS, find_model
from formnet.extraction.schema import FieldSchema, Schema
from linked_receipts import SCHEMA, read_receipt


def test_to_fields_arranges_values_in_the_order_of_the_schema() -> None:
    fields, checks = to_fields(read_receipt(2), SCHEMA)
    assert list(fields) == ["items", "total"]
    assert plain_values(fields) == {
        "items": [
            {"description": "Tea", "quantity": 1, "total": 0.5},
            {"description": "Cake", "quantity": 2, "total": 1.5, "modifiers": [{"description": "extra milk"}]},
        ],
        "total": 2.0,
    }
    assert list(fields["items"][1]) == ["description", "quantity", "total", "modifiers"]
    assert (fields["total"].text, fields["total"].key_text, fields["total"].page) == ("2.00", "Total:", 1)
    assert [(check.status, check.fields) for check in checks] == [("passed", ["items[].total", "total"])]
    assert not fields["total"].review


def test_to_fields_failed_check_marks_its_fields_for_review() -> None:
    fields, (check,) = to_fields(read_receipt(3), SCHEMA)
    assert (check.status, check.left, check.right) == ("failed", 4.5, 3.0)
    assert fields["total"].review
    assert fields["items"][0]["total"].review
    assert not fields["items"][0]["description"].review


def test_to_fields_unreadable_and_differing_values_are_marked_for_review() -> None:
    document = read_receipt(1)
    total = document.entities[-1]
    assert total.value is not None
    unreadable = replace(total, value=None)
    fields, _ = to_fields(replace(document, entities=(unreadable,), links=()), SCHEMA)
    assert (fields["total"].value, fields["total"].review) == (None, True)
    other = replace(total, words=(0,), score=0.95, value=replace(total.value, value="7.00"))
    fields, _ = to_fields(replace(document, entities=(other, total), links=()), SCHEMA)
    assert (fields["total"].value, fields["total"].review) == (7.0, True)


def test_to_fields_value_of_another_kind_is_unreadable() -> None:
    document = read_receipt(1)
    total = document.entities[-1]
    dated = replace(total, value=normalize("14/06/2024", "total"))
    fields, _ = to_fields(replace(document, entities=(dated,), links=()), SCHEMA)
    assert (fields["total"].value, fields["total"].review) == (None, True)


def make_texts(*words: tuple[int, ...]) -> Document:
    """Return a document with the words "ACME Inc ACME Inc Other", and an entity for each of these word numbers."""
    builder = DocumentBuilder("a")
    texts = ["ACME", "Inc", "ACME", "Inc", "Other"]
    builder.add_page(texts, [[0, 10 * i, 9, 10 * i + 9] for i in range(len(texts))], 60, 60)
    for number, part in enumerate(words):
        builder.add_entity("name", part, score=0.9 - 0.1 * number)
    return builder.build()


@pytest.mark.parametrize(
    ("words", "text", "review"),
    [
        (((0, 1), (2, 3)), "ACME Inc ACME Inc", False),  # they follow each other
        (((0,), (2,)), "ACME", False),  # the same text twice
        (((0,), (4,)), "ACME", True),
        (((4,), (0,)), "Other", True),
        (((0,), (1,)), "ACME Inc", False),
    ],
)
def test_to_fields_joins_texts_that_follow_each_other(words: Any, text: str, review: bool) -> None:
    schema = Schema(fields=(FieldSchema(label="name", path="vendor.name"),))
    fields, _ = to_fields(make_texts(*words), schema)
    assert (fields["vendor"]["name"].text, fields["vendor"]["name"].review) == (text, review)


def test_schema_load_invalid_file_raises(tmp_path: Path) -> None:
    (tmp_path / "schema.json").write_text('{"fields": [{"label": "a", "path": "B"}]}')
    with pytest.raises(SettingsError, match=r"schema\.json: invalid schema: fields\.0\.path: .*'B' is not a path"):
        Schema.load(tmp_path)
    with pytest.raises(SettingsError, match="cannot be read"):
        Schema.read(tmp_path / "none.json")


def test_schema_anchor_without_a_list_raises() -> None:
    with pytest.raises(ValidationError, match="label 'shop': an anchor starts an element of a list"):
        Schema(fields=(FieldSchema(label="shop", path="merchant.name", anchor=True),))


def test_schema_anchor_of_a_nested_list_raises() -> None:
    with pytest.raises(ValidationError, match="label 'item': a list with an anchor must be at the top of the tree"):
        Schema(fields=(FieldSchema(label="item", path="order.items[].description", anchor=True),))
    Schema(fields=(FieldSchema(label="modifier", path="items[].modifiers[].description", anchor=True),))


@pytest.mark.parametrize(
    ("paths", "equation", "message"),
    [
        (("total", "total.net"), "total = total", "label 'b': total is of another kind for another label: values"),
        (("items[].a", "items.b"), "items.a = items.a", "items is of another kind for another label: list of groups"),
        (("total", "tax"), "total + tip = total", "check 'sum': no field has the path tip"),
        (("total.net", "tax"), "total = tax", "no field has the path total"),
    ],
)
def test_schema_inconsistent_paths_raise(paths: tuple[str, str], equation: str, message: str, tmp_path: Path) -> None:
    fields = [{"label": label, "path": path} for label, path in zip("ab", paths, strict=True)]
    schema = {"fields": fields, "checks": [{"name": "sum", "any_of": [equation]}]}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    with pytest.raises(SettingsError, match=f"invalid schema: Value error, .*{message}"):
        Schema.load(tmp_path)


@pytest.mark.parametrize("name", AUTO_MODELS.values())
def test_shipped_schema_covers_all_labels(name: str) -> None:
    schema = Schema.load(find_model(name))
    assert schema is not None
    labels = {label for head in Extractor.from_pretrained(name).heads.values() for label in head.entity_types}
    assert schema.by_label.keys() == labels


@pytest.mark.parametrize(
    ("value", "text", "currency", "shown"),
    [
        (1234.5, "1,234.50", "EUR", "1,234.50 EUR"),
        (91000.0, "91.000", None, "91,000"),
        (1.5, "1.5 kg", None, "1.5"),
        (2.0, "2 x", None, "2"),
        ("2024-06-14", "14/06/2024", "EUR", "2024-06-14"),
        (None, "?", "EUR", ""),
    ],
)
def test_format_shows_amounts_as_printed(
    value: float | str | None, text: str, currency: str | None, shown: str
) -> None:
    field = FieldOutput(value=value, text=text, page=1, boxes=[], words=[])
    assert field.format(currency) == shown
