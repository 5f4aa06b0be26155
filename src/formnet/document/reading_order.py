"""Reading order of the words on a page: as given, raster, or shuffled.

Every corpus can be read in each order, to measure how much the model depends on it. Words move only within their page,
and entities keep the order of their words.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from formnet.document import Document
from formnet.document.boxes import raster_order

Order = Literal["given", "raster", "shuffled"]


def reorder(document: Document, order: Order, seed: int = 0) -> Document:
    """Return the document with the words of each page in the given order."""
    if order == "given":
        return document
    generator = np.random.default_rng([seed, *document.id.encode()])
    permutations = [
        raster_order(page.boxes) if order == "raster" else generator.permutation(len(page.texts))
        for page in document.pages
    ]
    starts = np.cumsum([0, *(len(page.texts) for page in document.pages)])[:-1]
    old_index = np.concatenate(
        [start + p for start, p in zip(starts, permutations, strict=True)] or [np.empty(0, np.intp)]
    )
    new_index = np.empty(len(old_index), np.intp)
    new_index[old_index] = np.arange(len(old_index))
    return replace(
        document,
        pages=tuple(page.take(p) for page, p in zip(document.pages, permutations, strict=True)),
        entities=tuple(
            replace(
                entity,
                words=tuple(new_index[list(entity.words)].tolist()),
                key_words=tuple(new_index[list(entity.key_words)].tolist()),
            )
            for entity in document.entities
        ),
    )
