from pathlib import Path

import pytest
from pydantic import ValidationError

from formnet.datasets import open_corpus
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.extraction.schema import FieldSchema, Schema
from formnet.extraction.structure import Node, build_tree

SCHEMA = Schema(
    fields=(
        FieldSchema(label="shop", path="merchant.name"),
        FieldSchema(label="name", path="line_items[].description"),
        FieldSchema(label="count", path="line_items[].quantity", type="quantity"),
        FieldSchema(label="extra", path="line_items[].modifiers[].description"),
        FieldSchema(label="extra price", path="line_items[].modifiers[].total", type="amount"),
        FieldSchema(label="cash", path="payments[].amount", type="amount", constants={"method": "cash"}),
        FieldSchema(label="card", path="payments[].amount", type="amount", constants={"method": "card"}),
        FieldSchema(label="note", path="notes[]"),
    )
)


def document(entities: str, links: list[tuple[int, int]], key_words: tuple[int, ...] = ()) -> Document:
    """Build a document with one word per entity; entities are "label=word" pairs separated by semicolons."""
    pairs = [pair.split("=") for pair in entities.split(";")]
    builder = DocumentBuilder("receipt")
    builder.add_page([word for _, word in pairs], [[0, i, 10, i + 1] for i in range(len(pairs))])
    for number, (label, _) in enumerate(pairs):
        builder.add_entity(label, [number], key_words=[number] if number in key_words else ())
    for link in links:
        builder.add_link(*link)
    return builder.build()


def plain(node: Node) -> dict[str, object]:
    return {
        **{name: [entity.text for entity in entities] for name, entities in node.values.items()},
        **node.constants,
        **{name: [plain(element) for element in elements] for name, elements in node.lists.items()},
        **{name: plain(part) for name, part in node.parts.items()},
    }


def tree(document: Document) -> dict[str, object]:
    return plain(build_tree(document.entities, document.links, SCHEMA))


def test_build_tree_groups_parts_by_owner_in_reading_order() -> None:
    receipt = document(
        "shop=Melur;count=2;name=Kopi;extra=Ice;extra price=1;extra=Milk;name=Roti;count=3;cash=9",
        [(2, 1), (2, 3), (3, 4), (2, 5), (6, 7)],
    )
    assert tree(receipt) == {
        "merchant": {"name": ["Melur"]},
        "line_items": [
            {
                "quantity": ["2"],
                "description": ["Kopi"],
                "modifiers": [{"description": ["Ice"], "total": ["1"]}, {"description": ["Milk"]}],
            },
            {"description": ["Roti"], "quantity": ["3"]},
        ],
        "payments": [{"amount": ["9"], "method": "cash"}],
    }


def test_build_tree_entities_without_owner_start_elements() -> None:
    receipt = document("count=2;extra price=1;cash=5;card=4;note=a;note=b;unknown=x", [])
    assert tree(receipt) == {
        "line_items": [{"quantity": ["2"]}, {"modifiers": [{"total": ["1"]}]}],
        "payments": [{"amount": ["5"], "method": "cash"}, {"amount": ["4"], "method": "card"}],
        "notes": ["a", "b"],
    }


def test_build_tree_item_without_name_is_one_element() -> None:
    assert tree(document("count=2;count=3", [(0, 1)])) == {"line_items": [{"quantity": ["2", "3"]}]}


@pytest.mark.parametrize(
    ("entities", "alone", "items"),
    [
        ("name=Drinks;name=Kopi;count=2", False, [{"description": ["Kopi"], "quantity": ["2"]}]),
        ("name=Drinks;name=Kopi", False, [{"description": ["Drinks"]}, {"description": ["Kopi"]}]),
        ("name=Drinks;count=2", True, [{"description": ["Drinks"]}, {"quantity": ["2"]}]),
        ("name=Drinks;count=2", False, [{"quantity": ["2"]}]),
    ],
)
def test_build_tree_anchor_that_is_not_alone_needs_other_values(
    entities: str, alone: bool, items: list[dict[str, object]]
) -> None:
    shop, name, *others = SCHEMA.fields
    schema = Schema(fields=(shop, name.model_copy(update={"anchor": True, "alone": alone}), *others))
    receipt = document(entities, [(1, 2)] if "Kopi;count" in entities else [])
    assert plain(build_tree(receipt.entities, receipt.links, schema)) == {"line_items": items}


def test_build_tree_anchor_with_a_group_is_not_alone() -> None:
    fields = (
        FieldSchema(label="name", path="items[].description", anchor=True, alone=False),
        FieldSchema(label="rate", path="items[].tax.rate"),
    )
    invoice = document("name=Drinks;name=Kopi;rate=7", [(1, 2)])
    items = [{"description": ["Kopi"], "tax": {"rate": ["7"]}}]
    assert plain(build_tree(invoice.entities, invoice.links, Schema(fields=fields))) == {"items": items}


def test_build_tree_cycle_of_links_terminates() -> None:
    assert tree(document("name=a;count=1", [(0, 1), (1, 0)]))["line_items"]


def test_build_tree_captions_without_value_are_left_out() -> None:
    assert tree(document("shop=Shop:;shop=Melur", [], key_words=(0,))) == {"merchant": {"name": ["Melur"]}}


@pytest.mark.parametrize("path", ["", "a..b", "A.b", "a[0].b", "a[]b", ".a"])
def test_field_schema_invalid_path_raises(path: str) -> None:
    with pytest.raises(ValidationError, match="is not a path"):
        FieldSchema(label="a", path=path)


def test_schema_flat_has_a_list_for_each_label() -> None:
    assert [field.path for field in Schema.flat(["menu.nm", "1st", "Größe"]).fields] == [
        "menu_nm[]",
        "field_1st[]",
        "gr_e[]",
    ]


def test_cord_entities_have_key_words_and_links(data: Path) -> None:
    receipts = list(open_corpus(f"cord:{data}/cord@dev"))
    assert sum(bool(entity.key_text) for receipt in receipts for entity in receipt.entities) > 400
    (cash,) = (entity for entity in receipts[0].entities if entity.label == "total.cashprice")
    assert (cash.key_text, cash.text) == ("CASH", "50,000")
    parts = [part for receipt in receipts for _, part in receipt.links]
    assert len(parts) > 500
    for receipt in receipts:
        assert len({part for _, part in receipt.links}) == len(receipt.links)  # a part has one owner
