"""Choosing among the places where a document says a value, for one value and for all of a document's fields."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, NamedTuple

import numpy as np

from formnet.datasets.alignment.search import Match, Occurrences, PageText
from formnet.document import Document, Entity
from formnet.document.boxes import raster
from formnet.document.values.parse import amount, day, fold, number

#: An "almost" match may differ from the value in this share of its characters, and needs this many of them.
TOLERANCE = 0.2
SHORTEST_ALMOST = 6
#: A value must be this long to be looked for inside words; of a longer one than that, only the beginning is compared.
SHORTEST_INSIDE, LONGEST_VALUE = 4, 1000

#: How far to the left, in line heights, a word may name the value beside it; and how far above.
_LEFT, _ABOVE = 40.0, 2.5
#: Beside these words, the name of a sum is that of another one.
_OTHERS = ("sub", "qty", "quantity", "item", "excl", "before", "disc", "saving", "pcs")
#: How many words on another field's value may stand to be company.
_NEXT = 3


@dataclass(frozen=True)
class Miss:
    """A value not found, with the text that comes closest."""

    value: str
    closest: str
    distance: int

    def __str__(self) -> str:
        return f"{self.value!r} not found; closest is {self.closest!r}, {self.distance} characters apart"


@dataclass(frozen=True)
class Alignment:
    """What became of a document's fields."""

    document: Document  # with an entity for each value found
    matches: Mapping[str, Match]
    misses: Mapping[str, Miss]


def align(document: Document, occurrences: Literal["best", "all"] = "best") -> Alignment:
    """Make entities of the document's keyed-in fields, the best occurrence of each or all of them.

    Entities that the document has already stay, and a field of their label adds none. A word belongs to one entity: a
    later field takes another occurrence where there is one, and none where not.
    """
    pages = _page_texts(document)
    found = {name: _occurrences(pages, document.texts, value) for name, value in document.fields.items()}
    misses = {name: places for name, places in found.items() if isinstance(places, Miss)}
    places = {name: places for name, places in found.items() if not isinstance(places, Miss)}
    matches: dict[str, Match] = {}
    labeled = {entity.label for entity in document.entities}
    taken = {word for entity in document.entities for word in entity.words}
    added: list[Entity] = []
    for name in places:
        company = [words for other in places if other != name for words in places[other].words]
        matches[name] = match = _choose(document, places[name], name, company, set() if name in labeled else taken)
        for words in (match.words, *(match.others if occurrences == "all" else ())):
            if name not in labeled and taken.isdisjoint(words):
                taken.update(words)
                added.append(document.entity(name, words))
    return Alignment(replace(document, entities=(*document.entities, *added)), matches, misses)


def with_entities(documents: Iterable[Document], occurrences: Literal["best", "all"] = "best") -> list[Document]:
    """Make entities of all documents' keyed-in fields."""
    return [align(document, occurrences).document if document.fields else document for document in documents]


def find(document: Document, value: str, name: str = "") -> Match | Miss:
    """Find the words that say one value; a name helps to choose among several occurrences.

    >>> from formnet.document.builder import DocumentBuilder
    >>> builder = DocumentBuilder("receipt")
    >>> builder.add_page(["9.00", "Total:", "RM9.00"], [[0, 0, 9, 9], [0, 20, 9, 29], [20, 20, 29, 29]], 40, 40)
    >>> find(builder.build(), "9.00", "total")
    Match(words=(2,), how='same amount', choice="beside 'Total:', of 2", others=((0,),))
    """
    found = _occurrences(_page_texts(document), document.texts, value)
    return found if isinstance(found, Miss) else _choose(document, found, name, (), set())


def _page_texts(document: Document) -> list[PageText]:
    """Give every page as it is read, and line by line where that differs."""
    texts = []
    start = 0
    for page in document.pages:
        words = np.arange(start, start + len(page.texts))
        texts.append(PageText(page.texts, words))
        by_line = raster(page.boxes)
        if (np.diff(by_line) != 1).any():
            texts.append(PageText([page.texts[i] for i in by_line.tolist()], words[by_line]))
        start += len(page.texts)
    return texts


def _occurrences(pages: Sequence[PageText], texts: Sequence[str], value: str) -> Occurrences | Miss:
    """Find the value everywhere, by the surest way that finds it anywhere."""
    for how, found in _tiers(pages, texts, value):
        distinct = {frozenset(words): words for words in reversed(list(found)) if words}
        if distinct:
            # As many words as were keyed in: 110 is meant rather than 1 10.
            as_keyed = [words for words in distinct.values() if len(words) == len(value.split())]
            chosen = as_keyed or list(distinct.values())
            if how == "same amount":  # 9.00 rather than a bare 9
                decimals = [_places(" ".join(texts[i] for i in words)) for words in chosen]
                exact = [words for words, places in zip(chosen, decimals, strict=True) if places == _places(value)]
                chosen = exact or chosen
            return Occurrences(tuple(sorted(chosen, key=min)), how)
    return _almost(pages, value)


def _places(text: str) -> int:
    """How many digits come after the last point or comma."""
    match = re.search(r"[.,](\d+)\D*$", text)
    return len(match[1]) if match else 0


def _tiers(
    pages: Sequence[PageText], texts: Sequence[str], value: str
) -> Iterator[tuple[str, Iterable[tuple[int, ...]]]]:
    """List the ways of finding a value, the surest first."""
    folded, figure, date = fold(value), number(value), day(value)
    if not amount(value):  # 9.00 folds to 900, which is another amount
        yield "exact", (words for page in pages for words in page.exact(folded))
    if date:
        yield "same date", (words for page in pages for words in page.days(date))
    if figure:
        yield "same amount", (words for page in pages for words in page.amounts(figure))
        size = frozenset(abs(reading) for reading in figure if isinstance(reading, Decimal))
        yield "same amount", (words for page in pages for words in page.amounts(size, loose=True))
    if not amount(value) and len(folded) >= SHORTEST_INSIDE:
        yield "inside words", (words for page in pages for words in page.inside(folded))
    if amount(value):  # an odd one, letter by letter
        same = " ".join(value.split())
        found = (words for page in pages for words in page.exact(folded))
        yield "exact", (words for words in found if " ".join(" ".join(texts[i] for i in words).split()) == same)


def _almost(pages: Sequence[PageText], value: str) -> Occurrences | Miss:
    folded = fold(value)[:LONGEST_VALUE]
    near = [(*found, page) for page in pages if (found := page.closest(folded))]
    if not near:
        return Miss(value, "", len(folded))
    distance, words, page = min(near, key=lambda item: item[0])
    identifier = len(value.split()) == 1 and any(c.isdigit() for c in value)  # another digit is another thing
    exacting = identifier or number(value) or day(value) or not SHORTEST_ALMOST <= len(folded) < LONGEST_VALUE
    if not exacting and distance <= max(TOLERANCE * len(folded), 1):
        return Occurrences((words,), f"almost, {distance} of {len(folded)} characters differ")
    return Miss(value, page.say(words), distance)


def _choose(
    document: Document, found: Occurrences, name: str, company: Sequence[tuple[int, ...]], taken: set[int]
) -> Match:
    """Take the occurrence beside its name; then one in company, next to another field's value; then the first.

    Of equal amounts it is the last.
    """
    free = [words for words in found.words if taken.isdisjoint(words)] or list(found.words)
    ends = np.array([(words[0], words[-1]) for words in company] or np.empty((0, 2)))

    def in_company(words: tuple[int, ...]) -> bool:
        after, before = ends[:, 0] - words[-1], words[0] - ends[:, 1]
        return bool((((after > 0) & (after <= _NEXT)) | ((before > 0) & (before <= _NEXT))).any())

    ranked = [(_named_by(document, words, name), in_company(words), words) for words in free]
    if found.how == "same amount":  # what is added up comes before its sum
        ranked.reverse()
    named, accompanied, chosen = max(ranked, key=lambda item: (item[0].rank, item[1]))  # the first of equals
    count = len(found.words)
    if count == 1:
        choice = "the only one"
    elif named.text is not None:
        choice = f"beside {named.text!r}, of {count}"
    else:
        place = "the last" if found.how == "same amount" else "the first"
        choice = f"{'next to another value,' if accompanied else place} of {count}"
    return Match(chosen, found.how, choice, tuple(words for words in found.words if words != chosen))


class _Name(NamedTuple):
    """How a field's name stands by a value: 3 beside it, 2 above it, 1 beside it among words that make it another."""

    rank: int
    text: str | None


def _named_by(document: Document, words: Sequence[int], name: str) -> _Name:
    """Look for the field's name to the left of a value, and just above it."""
    keys = tuple(fold(part) for part in re.split(r"[\W_]+", name) if len(fold(part)) > 2)
    if not keys:
        return _Name(0, None)
    first = words[0]
    page = int(document.page_of_word[first])
    start = int(np.searchsorted(document.page_of_word, page))
    boxes, texts = document.pages[page].boxes, document.pages[page].texts
    x0, y0, x1, y1 = boxes[first - start].tolist()
    height, middle = y1 - y0, (boxes[:, 1] + boxes[:, 3]) / 2
    left = (middle > y0) & (middle < y1) & (boxes[:, 0] < x0) & (boxes[:, 2] > x0 - _LEFT * height)
    above = (boxes[:, 3] <= y0 + height / 2) & (boxes[:, 3] > y0 - _ABOVE * height)
    above &= (boxes[:, 0] < x1) & (boxes[:, 2] > x0)
    row = sorted(np.flatnonzero(left).tolist(), key=lambda i: float(boxes[i, 0]))
    beside = [i for i in row if fold(texts[i]).startswith(keys)]  # Total or TotalPrice, but not Subtotal
    if beside:
        others = [fold(texts[i]) for i in row[max(row.index(beside[-1]) - 1, 0) :]]
        another = any(other.startswith(word) for other in others for word in _OTHERS if word not in keys)
        return _Name(1 if another else 3, texts[beside[-1]])
    over = next((texts[i] for i in np.flatnonzero(above).tolist() if fold(texts[i]).startswith(keys)), None)
    return _Name(0 if over is None else 2, over)
