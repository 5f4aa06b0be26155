"""The order in which a page's words are read: as given, raster, or shuffled.

The model claims to survive bad order, so order is an option of every corpus. Words move only within their
page; an entity keeps its words in the order in which they say it, under their new numbers.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from formnet.document import Document
from formnet.document.boxes import raster

Order = Literal["given", "raster", "shuffled"]


def reorder(document: Document, order: Order, seed: int = 0) -> Document:
    """Give the same document with each page's words in the order named."""
    if order == "given":
        return document
    generator = np.random.default_rng([seed, *document.id.encode()])
    permutations = [
        raster(page.boxes) if order == "raster" else generator.permutation(len(page.texts)) for page in document.pages
    ]
    starts = np.cumsum([0, *(len(page.texts) for page in document.pages)])[:-1]
    moved = np.concatenate([start + p for start, p in zip(starts, permutations, strict=True)] or [np.empty(0, np.intp)])
    new_number = np.empty(len(moved), np.intp)
    new_number[moved] = np.arange(len(moved))
    return replace(
        document,
        pages=tuple(page.take(p) for page, p in zip(document.pages, permutations, strict=True)),
        entities=tuple(
            replace(entity, words=tuple(new_number[list(entity.words)].tolist())) for entity in document.entities
        ),
    )
