"""Split words that hold two values or a caption and a value, because they were printed without a space."""

import re
from dataclasses import replace

import numpy as np

from formnet.document import Document, Page, Repair
from formnet.document.boxes import Box
from formnet.document.values.parse import parse_amount, parse_date

#: Longer words are not split.
MAX_LENGTH = 40
_DAY, _YEAR = r"\d{1,2}[/.]\d{1,2}", r"[/.]\d{2,4}"
#: A date with a year of four digits or, failing that, two.
_DATE = r"(?:\d{1,2}[/.-]\d{1,2}[/.-](?:(?:19|20)\d\d|\d\d)|(?:19|20)\d\d[/.-]\d{1,2}[/.-]\d{1,2})"
_TIME = r"\(?(?:[01]?\d|2[0-4]):[0-5]\d(?::[0-5]\d)?(?:[AaPp]\.?[Mm]\.?)?\)?"
#: Patterns of glued words by the kind of repair; each group is a new word. In a date range, the first date may lack its
#: year, and either end may have brackets or other punctuation.
_PATTERNS = {
    "date range split": re.compile(rf"(\W*{_DAY}(?:{_YEAR})?)([-–—])({_DAY}{_YEAR}\W*)"),
    "date and time split": re.compile(rf"({_DATE})({_TIME})"),
    "caption split": re.compile(r"([^\W\d_].*?:|:)([^:]*\d[^:]*)"),
    "next caption split": re.compile(rf"({_DAY}{_YEAR})([^\W\d_]+:)"),
    "registration number split": re.compile(r"(.*[^\W\d_]\W?)(\(\d{4,}(?:-\w)?\)\W*)"),
}


def split_glued_words(document: Document) -> Document:
    """Return the document with glued words split; entities keep their words, renumbered."""
    new_numbers: list[list[int]] = []  # by old word number
    pages: list[Page] = []
    repairs: list[Repair] = []
    for page_number, page in enumerate(document.pages):
        splits = [_split(text) for text in page.texts]
        parts = [part for part, _ in splits]
        start = new_numbers[-1][-1] + 1 if new_numbers else 0
        ends = np.cumsum([len(part) for part in parts], dtype=np.intp) + start
        new_numbers += [list(range(end - len(part), end)) for part, end in zip(parts, ends.tolist(), strict=True)]
        pages.append(_replace_words(page, parts) if len(parts) < sum(map(len, parts)) else page)
        repairs += [
            Repair(kind, page_number, word, text)
            for word, (text, (_, kind)) in enumerate(zip(page.texts, splits, strict=True))
            if kind
        ]
    if not repairs:
        return document
    bare = replace(document, pages=tuple(pages), entities=(), links=(), repairs=(*document.repairs, *repairs))
    entities = (bare.move_entity(entity, new_numbers.__getitem__) for entity in document.entities)
    return replace(bare, entities=tuple(filter(None, entities)), links=document.links)


def split_word(text: str) -> tuple[str, ...]:
    """Split a date range, a date and a time, a caption or colon from an amount or date, or a registration number.

    >>> split_word("05/28/20-06/03/20"), split_word("DATE:21/03/2018"), split_word("BHD(974306-T)"), split_word("9:30")
    (('05/28/20', '-', '06/03/20'), ('DATE:', '21/03/2018'), ('BHD', '(974306-T)'), ('9:30',))
    """
    return _split(text)[0]


def _split(text: str) -> tuple[tuple[str, ...], str]:
    """Return the parts of a word and the kind of repair, which is empty for a word that is not split."""
    for kind, pattern in _PATTERNS.items() if len(text) <= MAX_LENGTH else ():
        match = pattern.fullmatch(text)
        if match and _is_glued(kind, match):
            return tuple(part for group in match.groups() for part in _split(group)[0]), kind
    return (text,), ""


def _is_glued(kind: str, match: re.Match[str]) -> bool:
    if kind == "caption split":
        return bool(parse_amount(match[2]) or parse_date(match[2]) or _PATTERNS["date range split"].fullmatch(match[2]))
    return kind != "date and time split" or bool(parse_date(match[1]))


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
