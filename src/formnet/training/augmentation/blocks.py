"""Lines above and below a document that its labels say nothing of, taken from documents that have them.

A corpus whose receipts were cut or blanked before labeling teaches that every word on a receipt is part of an
item or a sum; the first shop's name that its model meets is then an item, too. And who learned names, addresses and
dates elsewhere has never seen them above items like these: such documents can be labeled for either head.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document, Page
from formnet.document.boxes import Boxes, line_numbers, raster

#: Where items and sums begin or end: something with two decimals.
_AMOUNT = re.compile(r"\d[.,]\d{2}\b")
_DIGIT = re.compile(r"\d")
#: Lines taken at most, above and below.
TOP, FOOT = 14, 5


@dataclass(frozen=True)
class Lines:
    """Some lines of a page, and the entities in them: a label, and words by their number here."""

    page: Page
    entities: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class Letterhead:
    """What stands above a document's items and below its sums."""

    top: Lines
    foot: Lines


def letterheads_of(documents: Sequence[Document]) -> list[Letterhead]:
    """Cut the first and last lines off those documents that have an entity in the first."""
    cut = (Letterhead(_top(document), _foot(document)) for document in documents if document.pages)
    return [letterhead for letterhead in cut if letterhead.top.page.texts]


def _top(document: Document) -> Lines:
    """Take the lines above the first amount, down to the last that says an entity: items may begin below it."""
    page = document.pages[0]
    lines = _lines_without_amounts(page, 1, TOP)
    said = {word for entity in document.entities for word in entity.words}
    last = max((number for number, line in enumerate(lines) if said.intersection(line)), default=-1)
    return _lines(document, page, lines[: last + 1], 0)


def _foot(document: Document) -> Lines:
    page = document.pages[-1]
    return _lines(document, page, _lines_without_amounts(page, -1, FOOT)[::-1], document.num_words - len(page.texts))


def _lines(document: Document, page: Page, lines: Sequence[Sequence[int]], first: int) -> Lines:
    """Take lines off a page whose first word has that number in its document."""
    said = ((entity.label, tuple(word - first for word in entity.words)) for entity in document.entities)
    return _take(Lines(page, tuple(said)), np.array([word for line in lines for word in line], np.intp))


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
    top, foot = _first(letterhead.top, generator.uniform(0.5, 1)), _first(letterhead.foot, generator.uniform(0, 1))
    bare, above = _framed(document, top, foot)
    moved = [bare.entity(entity.label, [word + above for word in entity.words]) for entity in document.entities]
    return replace(bare, entities=tuple(moved), links=document.links)


def put_between(
    document: Document, letterhead: Letterhead, alike: Mapping[str, str], generator: np.random.Generator
) -> Document:
    """Give the document between a letterhead's lines, with the letterhead's labels and what is alike in the document.

    A total is for one head an amount, and for another the words before it, too: of what is alike, the last number.
    """
    top, foot = _some(letterhead.top, generator), _some(letterhead.foot, generator)
    bare, above = _framed(document, top, foot)
    below = above + document.num_words
    said = [(label, list(words)) for label, words in top.entities]
    said += [(label, [below + word for word in words]) for label, words in foot.entities]
    for label, theirs in alike.items():
        words = [word for entity in document.entities if entity.label == theirs for word in entity.words]
        numbers = [above + word for word in words if _DIGIT.search(document.texts[word])]
        said.append((label, numbers[-1:]))
    return replace(bare, entities=tuple(bare.entity(label, words) for label, words in said if words), fields={})


def _first(lines: Lines, share: float) -> Lines:
    """Take the first words of lines."""
    return _take(lines, np.arange(round(share * len(lines.page.texts))))


def _some(lines: Lines, generator: np.random.Generator) -> Lines:
    """Take the lines that say an entity, and a share of the others."""
    number = line_numbers(lines.page.boxes)
    kept = generator.random(int(number.max(initial=-1)) + 1) < generator.random()
    kept[number[[word for _, words in lines.entities for word in words]]] = True
    return _take(lines, np.flatnonzero(kept[number]))


def _take(lines: Lines, words: NDArray[np.intp]) -> Lines:
    """Take some words, in that order; an entity keeps those of its own that are left."""
    new = {int(word): number for number, word in enumerate(words)}
    left = ((label, tuple(sorted(new[word] for word in said if word in new))) for label, said in lines.entities)
    return Lines(lines.page.take(words), tuple(one for one in left if one[1]))


def _framed(document: Document, top: Lines, foot: Lines) -> tuple[Document, int]:
    """Put lines around a document without its labels, and say how many words come before its own."""
    pages = list(document.pages)
    if not (pages[0].texts and pages[-1].texts):  # and nothing says how large its lines would be
        return replace(document, entities=(), links=()), 0
    pages[0] = _add(pages[0], top.page, above=True)
    pages[-1] = _add(pages[-1], foot.page, above=False)
    return replace(document, pages=tuple(pages), entities=(), links=()), len(top.page.texts)


def _add(page: Page, lines: Page, *, above: bool) -> Page:
    """Put lines, as large as the page's own words are, above or below them."""
    if not lines.texts:
        return page
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
    return replace(page, texts=texts, boxes=boxes, confidences=None, height=tall)


def _moved(boxes: Boxes, right: float, down: float) -> Boxes:
    return boxes + np.array([right, down, right, down])


def _usual_height(boxes: Boxes) -> float:
    return float(np.median(boxes[:, 3] - boxes[:, 1]))
