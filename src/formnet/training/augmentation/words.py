"""Word-level noise: boxes moved, words dropped, glued or misread, another reading order."""

import re
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document, Page
from formnet.document.boxes import Boxes
from formnet.document.reading_order import reorder
from formnet.training.config import Augmentation

#: Characters and what OCR commonly reads instead.
CONFUSIONS = {
    "0": "O", "O": "0", "o": "0", "1": "l", "l": "1", "I": "l", "i": "l", "5": "S", "S": "5", "8": "B", "B": "8",
    "6": "G", "G": "6", "2": "Z", "Z": "2", "m": "rn", "e": "c", "c": "e", "h": "b", "n": "h", "u": "v", "v": "u",
    ".": ",", ",": ".", ":": ";", "-": "~", "/": "l", "a": "o", "t": "f", "f": "t", "D": "O", "$": "S",
}  # fmt: skip
_THOUSANDS = re.compile(r"(?P<before>\D*)(?P<number>\d{1,3}(?:[.,]\d{3})+)(?P<after>\D*)")


def augment(document: Document, settings: Augmentation, generator: np.random.Generator) -> Document:
    """Return a randomly changed copy of a document, as from a worse scan or a worse OCR engine."""
    draw = generator.random()
    if draw < settings.raster:
        document = reorder(document, "raster")
    elif draw < settings.raster + settings.shuffled:
        document = reorder(document, "shuffled", int(generator.integers(2**31)))
    if settings.decimals and generator.random() < settings.decimals:
        pages = (replace(page, texts=tuple(map(with_decimals, page.texts))) for page in document.pages)
        document = replace(document, pages=tuple(pages))
    if settings.word_dropout and document.num_words:
        document = _drop_words(document, generator.random(document.num_words) >= settings.word_dropout)
    if settings.glued and generator.random() < settings.glued:
        document = glue_words(document)
    return replace(document, pages=tuple(_augment_page(page, settings, generator) for page in document.pages))


def glue_words(document: Document) -> Document:
    """Return the document without the spaces between neighboring words, as some OCR engines read a line.

    Words are glued if they are on a line, less than a line height apart, and in the same entities.
    """
    parts_of_word: dict[int, set[tuple[int, bool]]] = {}
    for number, entity in enumerate(document.entities):
        for word in entity.words:
            parts_of_word.setdefault(word, set()).add((number, word in entity.key_words))
    pages: list[Page] = []
    new_numbers: list[list[int]] = []  # by old word number; only the first word of a glued one has a new number
    count = 0
    for page in document.pages:
        groups: list[list[int]] = []
        start = len(new_numbers)
        for word in range(len(page.texts)):
            parts, previous = (parts_of_word.get(start + index) for index in (word, word - 1))
            if word and parts == previous and _adjoin(page.boxes[word - 1], page.boxes[word]):
                groups[-1].append(word)
                new_numbers.append([])
            else:
                groups.append([word])
                new_numbers.append([count])
                count += 1
        pages.append(_glue(page, groups))
    unlabeled = replace(document, pages=tuple(pages), entities=(), links=())
    entities = (unlabeled.move_entity(entity, new_numbers.__getitem__) for entity in document.entities)
    return replace(unlabeled, entities=tuple(filter(None, entities)), links=document.links)


def _adjoin(left: Boxes, right: Boxes) -> bool:
    """Return whether a box is on the line of another, right of it, and less than the line height away."""
    height = min(left[3] - left[1], right[3] - right[1])
    overlap = min(left[3], right[3]) - max(left[1], right[1])
    return bool(overlap > height / 2 and left[0] < right[0] and right[0] - left[2] < height)


def _glue(page: Page, groups: list[list[int]]) -> Page:
    boxes = [(*page.boxes[group, :2].min(axis=0), *page.boxes[group, 2:].max(axis=0)) for group in groups]
    confidences = page.confidences
    return replace(
        page,
        texts=tuple("".join(page.texts[word] for word in group) for group in groups),
        boxes=np.array(boxes).reshape(-1, 4),
        confidences=None if confidences is None else np.array([confidences[group].min() for group in groups]),
    )


def with_decimals(text: str) -> str:
    """Rewrite an amount in thousands with decimals, for corpora in a currency without cents.

    >>> [with_decimals(text) for text in ("75,000", "Rp1.346.500", "x2", "9.00", "0812-345")]
    ['75.00', 'Rp1,346.50', 'x2', '9.00', '0812-345']
    """
    match = _THOUSANDS.fullmatch(text)
    if match is None:
        return text
    *groups, last = re.split("[.,]", match["number"])
    return f"{match['before']}{','.join(groups)}.{last[:2]}{match['after']}"


def _augment_page(page: Page, settings: Augmentation, generator: np.random.Generator) -> Page:
    size = np.array([page.width, page.height])
    corners = page.boxes.reshape(-1, 2, 2).copy()  # [W, corner, axis]
    if settings.scale or settings.shift:
        center = size / 2
        scale = 1 + generator.uniform(-settings.scale, settings.scale, 2)
        corners = (corners - center) * scale + center + generator.uniform(-settings.shift, settings.shift, 2) * size
    if settings.jitter:
        height = (corners[:, 1, 1] - corners[:, 0, 1])[:, None, None]
        offsets = generator.normal(0, settings.jitter, (len(corners), 1, 2))
        _, first, box = np.unique(page.boxes, axis=0, return_index=True, return_inverse=True)
        corners = corners + offsets[first][box] * height  # words with the same box still have the same box
    if len(corners):  # enlarge the page instead of clipping words at its edge
        corners = corners - np.minimum(corners.min(axis=(0, 1)), 0)
        size = np.maximum(size, corners.max(axis=(0, 1)))
    min_size = 1e-3 * size  # no box may be empty
    low = np.clip(corners[:, 0], 0, size - min_size)
    boxes = np.concatenate([low, np.clip(corners[:, 1], low + min_size, size)], axis=1)
    texts = page.texts
    if settings.ocr_noise:
        misread = generator.random(len(texts)) < settings.ocr_noise
        texts = tuple(
            _add_ocr_error(text, generator) if wrong else text
            for text, wrong in zip(texts, misread.tolist(), strict=True)
        )
    return replace(page, texts=texts, boxes=boxes, width=float(size[0]), height=float(size[1]))


def _add_ocr_error(text: str, generator: np.random.Generator) -> str:
    """Replace a random character by a similar one; delete it if it has none, unless it is the only one."""
    index = int(generator.integers(len(text)))
    replacement = CONFUSIONS.get(text[index], "")
    return (text[:index] + replacement + text[index + 1 :]) if replacement or len(text) > 1 else text


def _drop_words(document: Document, kept: NDArray[np.bool_]) -> Document:
    """Drop words; entities keep their remaining words, and links their remaining entities."""
    if not kept.any():
        return document
    new_index = np.cumsum(kept) - 1
    pages = []
    start = 0
    for page in document.pages:
        pages.append(page.take(np.flatnonzero(kept[start : start + len(page.texts)])))
        start += len(page.texts)
    unlabeled = replace(document, pages=tuple(pages), entities=(), links=())
    moved = [
        unlabeled.move_entity(entity, lambda word: [int(new_index[word])] if kept[word] else [])
        for entity in document.entities
    ]
    number = np.cumsum([entity is not None for entity in moved]) - 1
    links = [(int(number[owner]), int(number[part])) for owner, part in document.links if moved[owner] and moved[part]]
    return replace(unlabeled, entities=tuple(filter(None, moved)), links=tuple(links))
