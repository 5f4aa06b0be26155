"""The order in which a page's words are read: as given, raster, or shuffled.

The model claims to survive bad order, so order is an option of every corpus. Words move only within their
page; an entity keeps its words in the order in which they say it, under their new numbers.
"""

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from formnet.boxes import Boxes
from formnet.document import Document

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


def raster(boxes: Boxes) -> NDArray[np.intp]:
    """Order words line by line, top to bottom, and left to right in a line: [W].

    The topmost word left over opens a line; those that overlap it vertically by about half a text height belong
    to it. Words larger than twice the usual height count as that high, so that a logo does not swallow lines.

    >>> raster(np.array([[50.0, 1, 60, 11], [0, 0, 10, 10], [0, 20, 10, 30]])).tolist()
    [1, 0, 2]
    """
    if len(boxes) == 0:
        return np.empty(0, np.intp)
    middle = (boxes[:, 1] + boxes[:, 3]) / 2
    height = boxes[:, 3] - boxes[:, 1]
    usual = float(np.median(height))
    reach = np.clip(height, usual, 2 * usual) / 2
    by_middle = np.argsort(middle, kind="stable")
    sorted_middle, sorted_reach = middle[by_middle], reach[by_middle]
    line = np.empty(len(boxes), np.intp)
    start = number = 0
    while start < len(boxes):  # a step a line, not a word
        stop = int(np.searchsorted(sorted_middle, sorted_middle[start] + sorted_reach[start], side="left"))
        stop = max(stop, start + 1)
        line[by_middle[start:stop]] = number
        start, number = stop, number + 1
    return np.lexsort((boxes[:, 0], line))
