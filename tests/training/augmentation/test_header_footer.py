"""Header and footer lines of one document around another."""

from dataclasses import replace

import numpy as np
import pytest

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.training.augmentation.header_footer import add_header_footer, extract_header_footers, swap_body


@pytest.fixture
def receipt() -> Document:
    builder = DocumentBuilder("receipt")
    builder.add_page(
        ["Elm", "Bakery", "12", "Mill", "Lane", "Bread", "4.50", "Thank", "you"],
        [(10, 10, 40, 20), (45, 10, 90, 20), (10, 30, 20, 40), (25, 30, 50, 40), (55, 30, 80, 40),
         (10, 50, 40, 60), (60, 50, 80, 60), (10, 70, 40, 80), (45, 70, 60, 80)],
        100, 100,
    )  # fmt: skip
    document = builder.build()
    labels = [("company", [0, 1]), ("address", [2, 3, 4]), ("thanks", [8])]
    return replace(document, entities=tuple(document.entity(label, words) for label, words in labels))


def test_extract_header_footers_receipt_returns_lines_around_amounts(receipt: Document) -> None:
    (header_footer,) = extract_header_footers([receipt])
    assert header_footer.header.page.texts == ("Elm", "Bakery", "12", "Mill", "Lane")
    assert header_footer.footer.page.texts == ("Thank", "you")
    assert extract_header_footers([replace(receipt, entities=())]) == []


def test_add_header_footer_adds_unlabeled_lines(receipt: Document, documents: list[Document]) -> None:
    (header_footer,) = extract_header_footers([receipt])
    document = documents[0]
    result = add_header_footer(document, header_footer, np.random.default_rng(0))
    assert result.texts[:2] == ("Elm", "Bakery")
    assert result.num_words > document.num_words
    assert [(e.label, e.text) for e in result.entities] == [(e.label, e.text) for e in document.entities]
    page, first = result.pages[0], result.texts.index(document.texts[0])
    assert page.boxes[:first, 3].max() <= page.boxes[first : first + document.num_words, 1].min()
    assert (page.boxes >= 0).all()
    assert (page.boxes <= np.tile([page.width, page.height], 2)).all()


@pytest.mark.parametrize("seed", range(20))  # each keeps another part of the lines
def test_swap_body_uses_labels_of_header_and_label_map(receipt: Document, documents: list[Document], seed: int) -> None:
    (header_footer,) = extract_header_footers([receipt])
    document = documents[0]
    labels = sorted({e.label for e in document.entities if any(c.isdigit() for c in e.text)})
    result = swap_body(document, header_footer, {"mapped": labels[0]}, np.random.default_rng(seed))
    texts = {e.label: e.text for e in result.entities}
    assert texts["company"] == "Elm Bakery"
    assert texts["address"] == "12 Mill Lane"
    assert {*texts} == {"company", "address", "thanks", "mapped"}
    assert texts["mapped"] in next(e.text for e in document.entities[::-1] if e.label == labels[0])
    assert texts["thanks"] == "you"
