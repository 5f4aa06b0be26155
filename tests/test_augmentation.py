"""Documents made worse, or sent by somebody else: they are documents still."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.io.readers import read
from formnet.training.augmentation.blocks import letterheads_of, put_around, put_between
from formnet.training.augmentation.words import augment
from formnet.training.config import Augmentation

ROOT = Path(__file__).parent.parent


@given(
    st.builds(
        Augmentation,
        jitter=st.floats(0, 2),
        scale=st.floats(0, 0.5),
        shift=st.floats(0, 0.5),
        drop=st.floats(0, 1),
        misread=st.floats(0, 1),
        raster=st.floats(0, 0.5),
        shuffled=st.floats(0, 0.5),
    ),
    st.integers(0, 99),
)
def test_worse_documents_are_documents_still(settings: Augmentation, seed: int) -> None:
    document = next(read(ROOT / "examples/documents.jsonl"))
    worse = augment(document, settings, np.random.default_rng(seed))
    page = worse.pages[0]
    assert (page.boxes[:, :2] >= 0).all()
    assert (page.boxes[:, 2:] <= (page.width, page.height)).all()
    assert (page.boxes[:, 2:] > page.boxes[:, :2]).all()
    assert all(page.texts)
    labels = {entity.label for entity in document.entities}
    assert all(entity.label in labels and max(entity.words) < worse.num_words for entity in worse.entities)
    assert worse == augment(document, settings, np.random.default_rng(seed))


def test_nothing_asked_changes_nothing(documents: list[Document]) -> None:
    same = augment(documents[0], Augmentation(), np.random.default_rng(0))
    assert same.texts == documents[0].texts
    assert same.entities == documents[0].entities
    assert np.allclose(same.boxes, documents[0].boxes)


def test_words_missed_are_missing_from_entities(documents: list[Document]) -> None:
    worse = augment(documents[0], Augmentation(drop=0.5), np.random.default_rng(3))
    assert 0 < worse.num_words < documents[0].num_words
    for entity in worse.entities:
        assert entity.text == " ".join(worse.texts[word] for word in entity.words)


def test_a_letterhead_is_put_around_a_document_and_labeled_as_nothing(documents: list[Document]) -> None:
    builder = DocumentBuilder("sender")
    builder.add_page(
        ["Elm", "Bakery", "12", "Mill", "Lane", "Bread", "4.50", "Thank", "you"],
        [(10, 10, 40, 20), (45, 10, 90, 20), (10, 30, 20, 40), (25, 30, 50, 40), (55, 30, 80, 40),
         (10, 50, 40, 60), (60, 50, 80, 60), (10, 70, 40, 80), (45, 70, 60, 80)],
        100, 100,
    )  # fmt: skip
    sender = builder.build()
    said = [("company", [0, 1]), ("address", [2, 3, 4]), ("thanks", [8])]
    sender = replace(sender, entities=tuple(sender.entity(*one) for one in said))
    (letterhead,) = letterheads_of([sender])
    assert letterhead.top.page.texts == ("Elm", "Bakery", "12", "Mill", "Lane")
    assert letterhead.foot.page.texts == ("Thank", "you")
    assert letterheads_of([replace(sender, entities=())]) == []

    document = documents[0]
    framed = put_around(document, letterhead, np.random.default_rng(0))
    assert framed.texts[:2] == ("Elm", "Bakery")
    assert framed.num_words > document.num_words
    assert [(e.label, e.text) for e in framed.entities] == [(e.label, e.text) for e in document.entities]
    labels = sorted({e.label for e in document.entities if any(c.isdigit() for c in e.text)})
    for seed in range(20):  # more of the letterhead, or less
        mixed = put_between(document, letterhead, {"alike": labels[0]}, np.random.default_rng(seed))
        found = {e.label: e.text for e in mixed.entities}
        assert found["company"] == "Elm Bakery"
        assert found["address"] == "12 Mill Lane"
        assert {*found} == {"company", "address", "thanks", "alike"}
        assert found["alike"] in next(e.text for e in document.entities[::-1] if e.label == labels[0])
        assert found["thanks"] == "you"
    page, first = framed.pages[0], framed.texts.index(document.texts[0])
    assert page.boxes[:first, 3].max() <= page.boxes[first : first + document.num_words, 1].min()
    assert (page.boxes >= 0).all()
    assert (page.boxes <= np.tile([page.width, page.height], 2)).all()
