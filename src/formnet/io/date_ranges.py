"""Split date ranges that were printed as one word, because they hold two values."""

import re
from dataclasses import replace

import numpy as np

from formnet.document import Document, Page, Repair
from formnet.document.boxes import Box

#: Kind under which splits are listed in the repairs of a document.
REPAIR_KIND = "date range split"
_DAY, _YEAR = r"\d{1,2}[/.]\d{1,2}", r"[/.]\d{2,4}"
#: The first date may lack its year; either end may have brackets or other punctuation.
_RANGE = re.compile(rf"(?P<first>\W*{_DAY}(?:{_YEAR})?)(?P<dash>[-–—])(?P<last>{_DAY}{_YEAR}\W*)")


def split_date_ranges(document: Document) -> Document:
    """Return the document with every date range split into three words: date, dash, date.

    Entities keep their words, renumbered.
    """
    new_numbers: list[list[int]] = []  # by old word number
    pages: list[Page] = []
    repairs: list[Repair] = []
    for page_number, page in enumerate(document.pages):
        parts = [split_date_range(text) for text in page.texts]
        start = new_numbers[-1][-1] + 1 if new_numbers else 0
        ends = np.cumsum([len(part) for part in parts], dtype=np.intp) + start
        new_numbers += [list(range(end - len(part), end)) for part, end in zip(parts, ends.tolist(), strict=True)]
        pages.append(_replace_words(page, parts) if len(parts) < sum(map(len, parts)) else page)
        ranges = [
            (word, text) for word, (text, part) in enumerate(zip(page.texts, parts, strict=True)) if len(part) > 1
        ]
        repairs += [Repair(REPAIR_KIND, page_number, word, text) for word, text in ranges]
    if not repairs:
        return document
    bare = replace(document, pages=tuple(pages), entities=(), links=(), repairs=(*document.repairs, *repairs))
    entities = (
        bare.entity(entity.label, [new for old in entity.words for new in new_numbers[old]], entity.score)
        for entity in document.entities
    )
    return replace(bare, entities=tuple(entities), links=document.links)


def split_date_range(text: str) -> tuple[str, ...]:
    """Split a date range into date, dash and date; return any other word unchanged.

    >>> split_date_range("05/28/20-06/03/20"), split_date_range("555-0199")
    (('05/28/20', '-', '06/03/20'), ('555-0199',))
    """
    match = _RANGE.fullmatch(text) if len(text) <= 40 else None
    return (match["first"], match["dash"], match["last"]) if match else (text,)


def _replace_words(page: Page, parts: list[tuple[str, ...]]) -> Page:
    boxes = [
        part_box for part, box in zip(parts, page.boxes.tolist(), strict=True) for part_box in _split_box(part, box)
    ]
    counts = [len(part) for part in parts]
    return replace(
        page,
        texts=tuple(text for part in parts for text in part),
        boxes=np.array(boxes),
        confidences=None if page.confidences is None else np.repeat(page.confidences, counts),
    )


def _split_box(parts: tuple[str, ...], box: Box) -> list[Box]:
    """Split a box horizontally in proportion to the number of characters in each part."""
    x0, y0, x1, y1 = box
    ends = np.cumsum([0, *map(len, parts)]) / sum(map(len, parts)) * (x1 - x0) + x0
    return [(start, y0, end, y1) for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
