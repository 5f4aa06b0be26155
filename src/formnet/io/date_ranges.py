"""Words that were printed without a space between them: a range of dates is two values, not one."""

import re
from dataclasses import replace

import numpy as np

from formnet.document import Document, Page, Repair
from formnet.document.boxes import Box

#: How it is noted in the document's repairs.
KIND = "range of dates taken apart"
_DAY, _YEAR = r"\d{1,2}[/.]\d{1,2}", r"[/.]\d{2,4}"
#: The first date may lack its year, and either side may have a bracket or a speck.
_RANGE = re.compile(rf"(?P<first>\W*{_DAY}(?:{_YEAR})?)(?P<dash>[-–—])(?P<last>{_DAY}{_YEAR}\W*)")


def split_ranges(document: Document) -> Document:
    """Give the document with every range of dates as two words and the dash between them.

    Entities keep their words, under new numbers.
    """
    number: list[list[int]] = []  # the new words of each old one
    pages: list[Page] = []
    repairs: list[Repair] = []
    for page_number, page in enumerate(document.pages):
        parts = [split_range(text) for text in page.texts]
        start = number[-1][-1] + 1 if number else 0
        ends = np.cumsum([len(part) for part in parts], dtype=np.intp) + start
        number += [list(range(end - len(part), end)) for part, end in zip(parts, ends.tolist(), strict=True)]
        pages.append(_with_parts(page, parts) if len(parts) < sum(map(len, parts)) else page)
        joined = [
            (word, text) for word, (text, part) in enumerate(zip(page.texts, parts, strict=True)) if len(part) > 1
        ]
        repairs += [Repair(KIND, page_number, word, text) for word, text in joined]
    if not repairs:
        return document
    bare = replace(document, pages=tuple(pages), entities=(), links=(), repairs=(*document.repairs, *repairs))
    kept = (bare.entity(e.label, [w for old in e.words for w in number[old]], e.score) for e in document.entities)
    return replace(bare, entities=tuple(kept), links=document.links)


def split_range(text: str) -> tuple[str, ...]:
    """Take a range of dates apart; any other word stays whole.

    >>> split_range("05/28/20-06/03/20"), split_range("555-0199")
    (('05/28/20', '-', '06/03/20'), ('555-0199',))
    """
    match = _RANGE.fullmatch(text) if len(text) <= 40 else None
    return (match["first"], match["dash"], match["last"]) if match else (text,)


def _with_parts(page: Page, parts: list[tuple[str, ...]]) -> Page:
    boxes = [box for part, whole in zip(parts, page.boxes.tolist(), strict=True) for box in _shares(part, whole)]
    counts = [len(part) for part in parts]
    return replace(
        page,
        texts=tuple(text for part in parts for text in part),
        boxes=np.array(boxes),
        confidences=None if page.confidences is None else np.repeat(page.confidences, counts),
    )


def _shares(parts: tuple[str, ...], box: Box) -> list[Box]:
    """Give each part its share of the width, by characters."""
    x0, y0, x1, y1 = box
    ends = np.cumsum([0, *map(len, parts)]) / sum(map(len, parts)) * (x1 - x0) + x0
    return [(start, y0, end, y1) for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
