"""Reading order of the words on a page: as given, raster, or shuffled, and with the lines of table cells together.

Every corpus can be read in each order, to measure how much the model depends on it. Words move only within their page,
and entities keep the order of their words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document
from formnet.document.boxes import Boxes, line_numbers, raster_order, segment_numbers

Order = Literal["given", "raster", "shuffled"]

#: Maximum gap between lines of a cell, and maximum difference between their left edges, in text heights.
LINE_GAP, INDENT = 0.5, 0.5
#: Minimum cells in a row of a table. Fewer are often separate blocks of text, such as an address next to dates.
MIN_CELLS = 3


def reorder(document: Document, order: Order, seed: int = 0) -> Document:
    """Return the document with the words of each page in the given order."""
    if order == "given":
        return document
    generator = np.random.default_rng([seed, *document.id.encode()])
    permutations = [
        raster_order(page.boxes) if order == "raster" else generator.permutation(len(page.texts))
        for page in document.pages
    ]
    return _permute(document, permutations, _flatten(permutations))


def join_cells(document: Document) -> tuple[Document, NDArray[np.intp]]:
    """Return the document with the lines of each table cell together, and the former number of each word: [W].

    Both PDFs and OCR engines often return the amounts of an item between the lines of its description, where a span of
    consecutive words cannot cover the description.
    """
    permutations = [cell_order(page.level().boxes) for page in document.pages]
    old_number = _flatten(permutations)
    if (old_number == np.arange(len(old_number))).all():
        return document, old_number
    return _permute(document, permutations, old_number), old_number


def cell_order(boxes: Boxes) -> NDArray[np.intp]:
    """Return word indices in their present order, except that lines that continue a cell directly follow it: [W].

    A line continues a cell if all of its words are together, and it starts close below that cell of a row, at its left
    edge.

    >>> row = [[0.0, 0, 30, 10], [60, 0, 69, 10], [90, 0, 99, 10]]
    >>> cell_order(np.array([*row, [0, 12, 20, 22], [90, 40, 99, 50]])).tolist()
    [0, 3, 1, 2, 4]
    """
    height = float(np.median(boxes[:, 3] - boxes[:, 1])) if len(boxes) else 0.0
    following: dict[int, list[int]] = {}  # last word of a cell's first line: words of its other lines
    row: list[_Cell] = []
    for line in _split_lines(boxes):
        cell = _find_continued(row, line[0], height) if len(line) == 1 and len(row) >= MIN_CELLS else None
        if cell is None:
            row = line
        else:
            following.setdefault(max(cell.words), []).extend(line[0].words)
            cell.extend(line[0])
    moved = {word for words in following.values() for word in words}
    order = []
    for word in range(len(boxes)):
        if word not in moved:
            order += [word, *following.get(word, ())]
    return np.array(order, np.intp)


@dataclass
class _Cell:
    """Words of one line that are close to each other, and the extent of these and of further lines."""

    words: Sequence[int]
    left: float
    top: float
    right: float
    bottom: float

    def extend(self, line: "_Cell") -> None:
        """Extend the cell by a line below it."""
        self.right, self.bottom = max(self.right, line.right), max(self.bottom, line.bottom)


def _split_lines(boxes: Boxes) -> list[list[_Cell]]:
    """Return the cells of each line of text, from left to right."""
    line_of, segment_of = line_numbers(boxes), segment_numbers(boxes)
    lines: dict[int, dict[int, list[int]]] = {}
    for word in raster_order(boxes).tolist():
        lines.setdefault(line_of[word], {}).setdefault(segment_of[word], []).append(word)
    return [[_make_cell(words, boxes) for words in line.values()] for line in lines.values()]


def _make_cell(words: Sequence[int], boxes: Boxes) -> _Cell:
    own = boxes[list(words)]
    return _Cell(words, *own[:, :2].min(axis=0).tolist(), *own[:, 2:].max(axis=0).tolist())


def _find_continued(row: Sequence[_Cell], line: _Cell, height: float) -> _Cell | None:
    """Return the cell of the row that the line continues, if any."""
    above = [cell for cell in row if cell.left < line.right and line.left < cell.right]
    if len(above) != 1 or abs(above[0].left - line.left) >= INDENT * height:
        return None
    return above[0] if line.top - above[0].bottom < LINE_GAP * height else None


def _flatten(permutations: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Return the order of all words, given that of each page."""
    starts = np.cumsum([0, *map(len, permutations)])[:-1]
    return np.concatenate(
        [start + p for start, p in zip(starts, permutations, strict=True)] or [np.empty(0, np.intp)], dtype=np.intp
    )


def _permute(document: Document, permutations: Sequence[NDArray[np.intp]], old_number: NDArray[np.intp]) -> Document:
    """Return the document with the words of each page in another order."""
    new_number = np.empty(len(old_number), np.intp)
    new_number[old_number] = np.arange(len(old_number))
    return replace(
        document,
        pages=tuple(page.take(p) for page, p in zip(document.pages, permutations, strict=True)),
        entities=tuple(entity.renumber_words(new_number) for entity in document.entities),
    )
