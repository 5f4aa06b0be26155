from collections import Counter
from decimal import Decimal

import pytest

from formnet.document import Document
from formnet.document.values.normalize import normalize_as
from formnet.training.synthetic import generate_receipt


@pytest.fixture(scope="module")
def receipts() -> list[Document]:
    return [generate_receipt(seed) for seed in range(400)]


def amounts(document: Document, label: str) -> list[Decimal]:
    values = [normalize_as(entity.text, "amount") for entity in document.entities if entity.label == label]
    assert all(value is not None for value in values), document.id
    return [Decimal(value.value) for value in values if value is not None]


def test_generate_receipt_same_seed_is_equal(receipts: list[Document]) -> None:
    assert generate_receipt(7) == receipts[7] != receipts[8]


def test_generate_receipt_words_lie_on_page_without_repairs(receipts: list[Document]) -> None:
    assert not [repair for document in receipts for repair in document.repairs]


def test_generate_receipt_items_and_modifiers_sum_to_subtotal(receipts: list[Document]) -> None:
    for document in receipts:
        subtotals = amounts(document, "subtotal")
        if subtotals:
            items = sum(amounts(document, "line_items.total")) + sum(amounts(document, "line_items.modifiers.total"))
            assert items + sum(amounts(document, "line_items.discount")) == subtotals[0], document.id


def test_generate_receipt_every_part_has_a_description_as_owner(receipts: list[Document]) -> None:
    for document in receipts:
        owners = {part: document.entities[owner].label for owner, part in document.links}
        for number, entity in enumerate(document.entities):
            if entity.label.startswith("line_items.") and not entity.label.endswith("description"):
                assert owners[number].endswith("description"), (document.id, entity)


def test_generate_receipt_captions_are_key_words_of_totals(receipts: list[Document]) -> None:
    totals = [entity for document in receipts for entity in document.entities if entity.label == "total"]
    assert all(entity.key_text and not any(c.isdigit() for c in entity.key_text) for entity in totals)


def test_generate_receipt_all_kinds_of_fields_occur(receipts: list[Document]) -> None:
    counts = Counter(entity.label for document in receipts for entity in document.entities)
    assert counts["merchant.name"] == len(receipts) < counts["date"]
    for label in ("merchant.phone", "time", "tip", "tax", "line_items.discount", "voided_items.total", "payments.card"):
        assert counts[label] > 5, label


def test_generate_receipt_repeated_dates_and_times_are_equal(receipts: list[Document]) -> None:
    for document in receipts:
        for label in ("date", "time"):
            assert len({entity.text for entity in document.entities if entity.label == label}) <= 1, document.id
        assert any(entity.label == "date" for entity in document.entities)


def test_generate_receipt_names_rarely_repeat(receipts: list[Document]) -> None:
    names = {
        entity.text.casefold()
        for document in receipts
        for entity in document.entities
        if entity.label == "merchant.name"
    }
    assert len(names) > 0.95 * len(receipts)
