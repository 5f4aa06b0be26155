"""Alignment of a table of items: the values of each row together, rows in their order down the pages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from formnet.datasets.alignment.align import find_occurrences, page_texts
from formnet.document import Document

#: Maximum vertical distance in line heights between the values of an item that are printed on several lines.
MAX_ROW_DISTANCE = 3.0
#: Maximum vertical distance in line heights between values on the same printed line.
_SAME_LINE = 0.6
#: Minimum score of a row: two values on one line, or three on several lines.
_MIN_ROW_SCORE = 1.5

Words = tuple[int, ...]


class Row(NamedTuple):
    """A candidate row of an item: the position of its anchor, the words of each value, and a score."""

    page: int
    y: float
    words: Mapping[str, Words]
    score: float


class _Place(NamedTuple):
    """An occurrence of a value: its words and the page, vertical middle, right edge and height of the first line."""

    words: Words
    page: int
    y: float
    x: float
    height: float


def align_items(document: Document, items: Sequence[Mapping[str, str]]) -> list[Mapping[str, Words]]:
    """Return the words of each item's values; an item that is not found has none.

    A row consists of values of one item near each other. Rows are chosen for all items at once: they must follow each
    other down the pages and have as many values as possible. The columns that this finds resolve values that are
    printed twice in a row, such as a price that is also the total.

    Args:
        document: The document.
        items: The values of each item by name, in the order in which the items are printed.
    """
    places = [list(_find_places(document, item)) for item in items]
    rows = _choose_rows([_candidate_rows(found, {}) for found in places])
    columns = _find_columns(document, rows)
    rows = _choose_rows([_candidate_rows(found, columns) for found in places])
    return [{} if row is None else row.words for row in rows]


def _find_places(document: Document, item: Mapping[str, str]) -> Iterator[tuple[str, list[_Place]]]:
    """Yield the name of each value and its occurrences."""
    pages = page_texts(document)
    boxes = document.boxes
    for name, value in item.items():
        places = []
        for words in find_occurrences(pages, document.texts, value):
            _, y0, _, y1 = boxes[words[0]].tolist()
            page = int(document.page_of_word[words[0]])
            places.append(_Place(words, page, (y0 + y1) / 2, float(boxes[list(words), 2].max()), y1 - y0))
        yield name, places


def _candidate_rows(places: Sequence[tuple[str, list[_Place]]], columns: Mapping[str, float]) -> list[Row]:
    """Return the rows around each occurrence of each value."""
    anchors = {(place.page, place.y): place for _, found in places for place in found}
    rows = []
    for anchor in anchors.values():
        used: set[int] = set()
        words: dict[str, Words] = {}
        score = 0.0
        for name, found in sorted(places, key=lambda item: len(item[1])):  # unambiguous values first
            free = [place for place in found if place.page == anchor.page and used.isdisjoint(place.words)]
            if not free:
                continue
            place = min(free, key=lambda place: _distance(place, anchor, columns.get(name)))
            distance = abs(place.y - anchor.y) / anchor.height
            if distance <= MAX_ROW_DISTANCE:
                used.update(place.words)
                words[name] = place.words
                score += 1.0 if distance <= _SAME_LINE else 0.5
        if score >= _MIN_ROW_SCORE:
            rows.append(Row(anchor.page, anchor.y, words, score))
    return sorted(rows, key=lambda row: (row.page, row.y))


def _distance(place: _Place, anchor: _Place, column: float | None) -> tuple[float, float]:
    """Return the distance from a row in lines, then that from the column of the value."""
    lines = round(abs(place.y - anchor.y) / anchor.height)
    return lines, 0.0 if column is None else abs(place.x - column)


def _choose_rows(candidates: Sequence[list[Row]]) -> list[Row | None]:
    """Choose at most one row per item, in ascending order on the pages and with the best score; no word is used twice.

    Dynamic programming over items; the state is the last row chosen.
    """
    best: list[tuple[float, Row | None, int]] = [(0.0, None, -1)]  # score, last row, index in `steps`
    steps: list[tuple[Row, int, int]] = []  # row, item, previous step
    for item, rows in enumerate(candidates):
        extended = []
        for row in rows:
            score, _, step = max(
                (state for state in best if state[1] is None or _follows(row, state[1])), key=lambda state: state[0]
            )
            steps.append((row, item, step))
            extended.append((score + row.score, row, len(steps) - 1))
        best += extended
    chosen: list[Row | None] = [None] * len(candidates)
    step = max(best, key=lambda state: state[0])[2]
    while step >= 0:
        row, item, step = steps[step]
        chosen[item] = row
    used: set[int] = set()  # rows that do not follow each other directly may still overlap
    for item, kept in enumerate(chosen):
        if kept is not None:
            words = {name: own for name, own in kept.words.items() if used.isdisjoint(own)}
            chosen[item] = kept._replace(words=words)
            used.update(word for own in words.values() for word in own)
    return chosen


def _follows(row: Row, previous: Row) -> bool:
    if (row.page, row.y) <= (previous.page, previous.y):
        return False
    taken = {word for words in previous.words.values() for word in words}
    return all(taken.isdisjoint(words) for words in row.words.values())


def _find_columns(document: Document, rows: Sequence[Row | None]) -> dict[str, float]:
    """Return the median right edge of each value over the rows."""
    boxes = document.boxes
    edges: dict[str, list[float]] = {}
    for row in rows:
        for name, words in row.words.items() if row else ():
            edges.setdefault(name, []).append(float(boxes[list(words), 2].max()))
    return {name: float(np.median(found)) for name, found in edges.items()}
