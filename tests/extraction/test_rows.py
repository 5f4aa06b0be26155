from dataclasses import replace

import pytest

from formnet.extraction.rows import links_by_position, links_in_rows
from linked_receipts import SCHEMA, linked_receipt, tilt


@pytest.mark.parametrize("slope", [0.0, 0.13, -0.13])
def test_links_by_position_follow_tilted_rows(slope: float) -> None:
    """At this slope, prices are a line lower or higher than the names of their items."""
    receipt = tilt(linked_receipt(5), slope)
    assert set(links_by_position(receipt, receipt.entities, SCHEMA)) == set(receipt.links)


@pytest.mark.parametrize("slope", [0.0, 0.13, -0.13])
def test_links_in_rows_join_parts_without_owner(slope: float) -> None:
    receipt = tilt(linked_receipt(3), slope)
    unnamed = replace(receipt, entities=tuple(e for e in receipt.entities if e.label in ("count", "price")), links=())
    joined = {(unnamed.entities[a].text, unnamed.entities[b].text) for a, b in links_in_rows(unnamed, SCHEMA)}
    assert joined == {("1x", "0.50"), ("2x", "1.50"), ("3x", "2.50")}


def test_links_in_rows_leave_owned_parts_and_names_alone() -> None:
    receipt = linked_receipt(3)
    assert links_in_rows(receipt, SCHEMA) == []
    assert links_in_rows(replace(receipt, links=receipt.links[1:]), SCHEMA) == []  # one part alone in its row


def test_links_in_rows_parts_with_the_same_label_are_not_joined() -> None:
    receipt = linked_receipt(1)
    prices = tuple(replace(entity, label="price") for entity in receipt.entities if entity.label in ("count", "price"))
    assert links_in_rows(replace(receipt, entities=prices, links=()), SCHEMA) == []
