"""Augmented documents are valid documents."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from formnet.document import Document, Page
from formnet.io.readers import read
from formnet.training.augmentation.words import augment, glue_words
from formnet.training.config import Augmentation

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@given(
    st.builds(
        Augmentation,
        jitter=st.floats(0, 2),
        scale=st.floats(0, 0.5),
        shift=st.floats(0, 0.5),
        word_dropout=st.floats(0, 1),
        ocr_noise=st.floats(0, 1),
        glued=st.floats(0, 1),
        raster=st.floats(0, 0.5),
        shuffled=st.floats(0, 0.5),
    ),
    st.integers(0, 99),
)
def test_augment_any_settings_returns_valid_document(settings: Augmentation, seed: int) -> None:
    document = next(read(ROOT / "examples/documents.jsonl"))
    augmented = augment(document, settings, np.random.default_rng(seed))
    page = augmented.pages[0]
    assert (page.boxes[:, :2] >= 0).all()
    assert (page.boxes[:, 2:] <= (page.width, page.height)).all()
    assert (page.boxes[:, 2:] > page.boxes[:, :2]).all()
    assert all(page.texts)
    labels = {entity.label for entity in document.entities}
    assert all(entity.label in labels and max(entity.words) < augmented.num_words for entity in augmented.entities)
    assert augmented == augment(document, settings, np.random.default_rng(seed))


def test_augment_default_settings_keeps_document(documents: list[Document]) -> None:
    same = augment(documents[0], Augmentation(), np.random.default_rng(0))
    assert same.texts == documents[0].texts
    assert same.entities == documents[0].entities
    assert np.allclose(same.boxes, documents[0].boxes)


def test_augment_word_dropout_updates_entities(documents: list[Document]) -> None:
    augmented = augment(documents[0], Augmentation(word_dropout=0.5), np.random.default_rng(3))
    assert 0 < augmented.num_words < documents[0].num_words
    for entity in augmented.entities:
        assert entity.text == " ".join(augmented.texts[word] for word in entity.words)


def test_glue_words_joins_words_of_an_entity(documents: list[Document]) -> None:
    document = documents[0]
    glued = glue_words(document)
    assert glued.num_words < document.num_words
    assert "".join(glued.texts) == "".join(document.texts)
    for entity, before in zip(glued.entities, document.entities, strict=True):
        assert entity.label == before.label
        assert entity.text.replace(" ", "") == before.text.replace(" ", "")


def test_glue_words_keeps_captions_columns_and_lines_apart() -> None:
    texts = ["Grand", "Total", "9.00", "EUR", "1", "Tea"]
    boxes = [(0, 0, 50, 10), (55, 0, 95, 10), (100, 0, 120, 10), (125, 0, 150, 10), (200, 0, 205, 10), (0, 20, 30, 30)]
    document = Document("receipt", (Page(300, 100, tuple(texts), np.array(boxes, dtype=float)),))
    entity = document.entity("total", [0, 1, 2, 3], None, [0, 1])
    glued = glue_words(replace(document, entities=(entity,)))
    assert glued.texts == ("GrandTotal", "9.00EUR", "1", "Tea")
    assert glued.entities[0].key_words == (0,)
    assert glued.pages[0].boxes[1].tolist() == [100, 0, 150, 10]
