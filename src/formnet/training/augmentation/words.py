"""Documents made worse on purpose: words moved, missed, misread, and read in another order."""

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document, Page
from formnet.document.reading_order import reorder
from formnet.training.config import Augmentation

#: What OCR takes for what.
CONFUSIONS = {
    "0": "O", "O": "0", "o": "0", "1": "l", "l": "1", "I": "l", "i": "l", "5": "S", "S": "5", "8": "B", "B": "8",
    "6": "G", "G": "6", "2": "Z", "Z": "2", "m": "rn", "e": "c", "c": "e", "h": "b", "n": "h", "u": "v", "v": "u",
    ".": ",", ",": ".", ":": ";", "-": "~", "/": "l", "a": "o", "t": "f", "f": "t", "D": "O", "$": "S",
}  # fmt: skip


_THOUSANDS = re.compile(r"(?P<before>\D*)(?P<number>\d{1,3}(?:[.,]\d{3})+)(?P<after>\D*)")


def augment(document: Document, settings: Augmentation, generator: np.random.Generator) -> Document:
    """Give the document as a worse scan and a worse reader would have given it."""
    dice = generator.random()
    if dice < settings.raster:
        document = reorder(document, "raster")
    elif dice < settings.raster + settings.shuffled:
        document = reorder(document, "shuffled", int(generator.integers(2**31)))
    if settings.decimals and generator.random() < settings.decimals:
        pages = (replace(page, texts=tuple(map(with_decimals, page.texts))) for page in document.pages)
        document = replace(document, pages=tuple(pages))
    if settings.drop and document.num_words:
        document = _drop(document, generator.random(document.num_words) >= settings.drop)
    return replace(document, pages=tuple(_worsen(page, settings, generator) for page in document.pages))


def with_decimals(text: str) -> str:
    """Write an amount of thousands as one with decimals: what is dear in one currency is cheap in another.

    >>> [with_decimals(text) for text in ("75,000", "Rp1.346.500", "x2", "9.00", "0812-345")]
    ['75.00', 'Rp1,346.50', 'x2', '9.00', '0812-345']
    """
    match = _THOUSANDS.fullmatch(text)
    if match is None:
        return text
    *groups, last = re.split("[.,]", match["number"])
    return f"{match['before']}{','.join(groups)}.{last[:2]}{match['after']}"


def _worsen(page: Page, settings: Augmentation, generator: np.random.Generator) -> Page:
    size = np.array([page.width, page.height])
    corners = page.boxes.reshape(-1, 2, 2).copy()  # [W, corner, axis]
    if settings.scale or settings.shift:
        middle = size / 2
        stretch = 1 + generator.uniform(-settings.scale, settings.scale, 2)
        corners = (corners - middle) * stretch + middle + generator.uniform(-settings.shift, settings.shift, 2) * size
    if settings.jitter:
        height = (corners[:, 1, 1] - corners[:, 0, 1])[:, None, None]
        by = generator.normal(0, settings.jitter, (len(corners), 1, 2))
        _, first, box = np.unique(page.boxes, axis=0, return_index=True, return_inverse=True)
        corners = corners + by[first][box] * height  # words that share a box go on sharing it
    if len(corners):  # the page grows with its words: none is pressed to its edge
        corners = corners - np.minimum(corners.min(axis=(0, 1)), 0)
        size = np.maximum(size, corners.max(axis=(0, 1)))
    least = 1e-3 * size  # a box keeps some area inside the page
    low = np.clip(corners[:, 0], 0, size - least)
    boxes = np.concatenate([low, np.clip(corners[:, 1], low + least, size)], axis=1)
    texts = page.texts
    if settings.misread:
        misread = generator.random(len(texts)) < settings.misread
        texts = tuple(
            _misread(text, generator) if bad else text for text, bad in zip(texts, misread.tolist(), strict=True)
        )
    return replace(page, texts=texts, boxes=boxes, width=float(size[0]), height=float(size[1]))


def _misread(text: str, generator: np.random.Generator) -> str:
    """Take one character for another, or miss it."""
    at = int(generator.integers(len(text)))
    seen = CONFUSIONS.get(text[at], "")
    return (text[:at] + seen + text[at + 1 :]) if seen or len(text) > 1 else text


def _drop(document: Document, kept: NDArray[np.bool_]) -> Document:
    """Leave words out; an entity keeps those of its words that are left."""
    if not kept.any():
        return document
    new_number = np.cumsum(kept) - 1
    pages = []
    start = 0
    for page in document.pages:
        pages.append(page.take(np.flatnonzero(kept[start : start + len(page.texts)])))
        start += len(page.texts)
    bare = replace(document, pages=tuple(pages), entities=(), links=())
    left = [(entity.label, [int(new_number[w]) for w in entity.words if kept[w]]) for entity in document.entities]
    return replace(bare, entities=tuple(bare.entity(label, words) for label, words in left if words))
