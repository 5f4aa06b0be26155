"""Lines above and below a document that its labels say nothing of, taken from documents that have them.

A corpus whose receipts were cut or blanked before labelling teaches that every word on a receipt is part of an
item or a sum; the first shop's name that its model meets is then an item, too.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from formnet.boxes import Boxes, line_numbers, raster
from formnet.document import Document, Page

#: Where items and sums begin or end: something with two decimals.
_AMOUNT = re.compile(r"\d[.,]\d{2}\b")
#: Lines taken at most, above and below.
TOP, FOOT = 14, 5


@dataclass(frozen=True)
class Letterhead:
    """What stands above a document's items and below its sums."""

    top: Page
    foot: Page


def letterheads_of(documents: Sequence[Document]) -> list[Letterhead]:
    """Cut the first and last lines off those documents that have an entity in the first."""
    cut = (Letterhead(_top(document), _foot(document.pages[-1])) for document in documents if document.pages)
    return [letterhead for letterhead in cut if letterhead.top.texts]


def _top(document: Document) -> Page:
    """Take the lines above the first amount, down to the last that says an entity: items may begin below it."""
    page = document.pages[0]
    lines = _lines_without_amounts(page, 1, TOP)
    said = {word for entity in document.entities for word in entity.words}
    last = max((number for number, line in enumerate(lines) if said.intersection(line)), default=-1)
    return page.take(np.array([word for line in lines[: last + 1] for word in line], np.intp))


def _foot(page: Page) -> Page:
    lines = _lines_without_amounts(page, -1, FOOT)
    return page.take(np.array([word for line in lines[::-1] for word in line], np.intp))


def _lines_without_amounts(page: Page, step: int, most: int) -> list[list[int]]:
    """List the words of each line, from the top or (step -1) from the bottom, until one has an amount."""
    order = raster(page.boxes)
    number = line_numbers(page.boxes)[order]
    lines: list[list[int]] = []
    for line in range(int(number.max(initial=-1)) + 1)[::step][:most]:
        words = order[number == line].tolist()
        if any(_AMOUNT.search(page.texts[word]) for word in words):
            break
        lines.append(words)
    return lines


def put_around(document: Document, letterhead: Letterhead, generator: np.random.Generator) -> Document:
    """Give the document with some of a letterhead's lines around it; its own words keep their labels."""
    pages = list(document.pages)
    pages[0], above = _add(pages[0], letterhead.top, above=True, share=generator.uniform(0.5, 1))
    pages[-1], _ = _add(pages[-1], letterhead.foot, above=False, share=generator.uniform(0, 1))
    bare = replace(document, pages=tuple(pages), entities=(), links=())
    moved = [bare.entity(entity.label, [word + above for word in entity.words]) for entity in document.entities]
    return replace(bare, entities=tuple(moved), links=document.links)


def _add(page: Page, lines: Page, *, above: bool, share: float) -> tuple[Page, int]:
    """Put the first of the lines, as large as the page's own words are, above or below them; say how many words."""
    count = round(share * len(lines.texts))
    if not count or not page.texts:
        return page, 0
    lines = lines.take(np.arange(count))
    own, height = page.boxes, _usual_height(page.boxes)
    left, right = own[:, 0].min(), own[:, 2].max()
    boxes = _moved(lines.boxes, -lines.boxes[:, 0].min(), -lines.boxes[:, 1].min())
    boxes = boxes * np.tile([(right - left) / boxes[:, 2].max(), height / _usual_height(boxes)], 2)
    if above:  # all of the page's own words make room
        boxes = _moved(boxes, left, own[:, 1].min())
        own = _moved(own, 0, boxes[:, 3].max() + height - own[:, 1].min())
        texts, boxes = lines.texts + page.texts, np.concatenate([boxes, own])
    else:
        boxes = _moved(boxes, left, own[:, 3].max() + height)
        texts, boxes = page.texts + lines.texts, np.concatenate([own, boxes])
    margin = page.height - page.boxes[:, 3].max()
    tall = float(boxes[:, 3].max() + margin)
    return replace(page, texts=texts, boxes=boxes, confidences=None, height=tall), count


def _moved(boxes: Boxes, right: float, down: float) -> Boxes:
    return boxes + np.array([right, down, right, down])


def _usual_height(boxes: Boxes) -> float:
    return float(np.median(boxes[:, 3] - boxes[:, 1]))
