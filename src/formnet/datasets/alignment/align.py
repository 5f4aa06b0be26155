"""Selection of the best occurrence of a value, for a single value or for all fields of a document."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, NamedTuple

import numpy as np

from formnet.datasets.alignment.search import Match, Occurrences, PageText
from formnet.document import Document, Entity
from formnet.document.boxes import raster_order
from formnet.document.values.parse import fold, parse_amount, parse_date, parse_number

#: Maximum edit distance of an approximate match, as a share of the value's characters.
MAX_EDIT_SHARE = 0.2
#: Minimum characters of a value for an approximate match.
MIN_APPROXIMATE_LENGTH = 6
#: Minimum characters of a value for a match inside words.
MIN_INSIDE_LENGTH = 4
#: Characters of a value that are compared in an approximate search; longer values are cut.
MAX_VALUE_LENGTH = 1000

#: Maximum distance of a field name to the left of its value and above it, in line heights.
_MAX_LEFT, _MAX_ABOVE = 40.0, 2.5
#: Prefixes of words that turn the name of a total into the name of a different amount, such as "sub total".
_OTHER_AMOUNTS = ("sub", "qty", "quantity", "item", "excl", "before", "disc", "saving", "pcs")
#: Maximum distance in words between the adjacent values of two fields.
_MAX_GAP = 3


@dataclass(frozen=True)
class Miss:
    """A value that was not found, with the closest text and its edit distance."""

    value: str
    closest: str
    distance: int

    def __str__(self) -> str:
        return f"{self.value!r} not found. Closest text: {self.closest!r}, edit distance {self.distance}"


@dataclass(frozen=True)
class Alignment:
    """Result of aligning the fields of a document."""

    document: Document  # including an entity for each value found
    matches: Mapping[str, Match]
    misses: Mapping[str, Miss]


def align(
    document: Document,
    occurrences: Literal["best", "all"] = "best",
    captions: Mapping[str, Sequence[str]] | None = None,
) -> Alignment:
    """Add entities for the field values of a document, using the best occurrence of each value or all of them.

    Existing entities are kept, and fields with the same label as an existing entity add none. A word belongs to at most
    one entity: a later field uses an occurrence whose words are free, or adds no entity if there is none.

    Args:
        document: The document, with values in `fields`.
        occurrences: Which occurrences of a value become entities.
        captions: Beginnings of the words that are printed next to the value of a field, folded. Default: the words in
            the name of the field.
    """
    captions = captions or {}
    pages = page_texts(document)
    found = {name: _occurrences(pages, document.texts, value) for name, value in document.fields.items()}
    misses = {name: result for name, result in found.items() if isinstance(result, Miss)}
    hits = {name: result for name, result in found.items() if not isinstance(result, Miss)}
    matches: dict[str, Match] = {}
    labeled = {entity.label for entity in document.entities}
    used = {word for entity in document.entities for word in entity.words}
    added: list[Entity] = []
    for name in hits:
        other_values = [words for other in hits if other != name for words in hits[other].words]
        matches[name] = match = _choose(
            document,
            hits[name],
            captions.get(name) or name_keys(name),
            other_values,
            set() if name in labeled else used,
        )
        for words in (match.words, *(match.others if occurrences == "all" else ())):
            if name not in labeled and used.isdisjoint(words):
                used.update(words)
                added.append(document.entity(name, words))
    return Alignment(replace(document, entities=(*document.entities, *added)), matches, misses)


def with_entities(documents: Iterable[Document], occurrences: Literal["best", "all"] = "best") -> list[Document]:
    """Return the documents with entities added for their field values, as `align` does."""
    return [align(document, occurrences).document if document.fields else document for document in documents]


def find(document: Document, value: str, name: str = "") -> Match | Miss:
    """Locate one value; the field name helps to choose among several occurrences.

    >>> from formnet.document.builder import DocumentBuilder
    >>> builder = DocumentBuilder("receipt")
    >>> builder.add_page(["9.00", "Total:", "RM9.00"], [[0, 0, 9, 9], [0, 20, 9, 29], [20, 20, 29, 29]], 40, 40)
    >>> find(builder.build(), "9.00", "total")
    Match(words=(2,), method='same amount', reason="next to 'Total:', 2 occurrences", others=((0,),))
    """
    found = _occurrences(page_texts(document), document.texts, value)
    return found if isinstance(found, Miss) else _choose(document, found, name_keys(name), (), set())


def page_texts(document: Document) -> list[PageText]:
    """Return the text of every page in reading order, and also in raster order where that differs."""
    texts = []
    start = 0
    for page in document.pages:
        words = np.arange(start, start + len(page.texts))
        texts.append(PageText(page.texts, words))
        by_line = raster_order(page.boxes)
        if (np.diff(by_line) != 1).any():
            texts.append(PageText([page.texts[i] for i in by_line.tolist()], words[by_line]))
        start += len(page.texts)
    return texts


def find_occurrences(pages: Sequence[PageText], texts: Sequence[str], value: str) -> tuple[tuple[int, ...], ...]:
    """Return the words of all occurrences of a number in any notation, or of a text, or of the closest text."""
    if number := parse_number(value):
        found = {frozenset(words): words for page in pages for words in page.amounts(number)}
        return tuple(words for words in found.values() if parse_number(" ".join(texts[i] for i in words)))
    occurrences = _occurrences(pages, texts, value)
    return () if isinstance(occurrences, Miss) else occurrences.words


def _occurrences(pages: Sequence[PageText], texts: Sequence[str], value: str) -> Occurrences | Miss:
    """Return all occurrences found by the most reliable method that finds any."""
    for method, found in _searches(pages, texts, value):
        distinct = {frozenset(words): words for words in reversed(list(found)) if words}
        if distinct:
            # Prefer the same number of words as the value: for 110, "110" rather than "1 10".
            same_length = [words for words in distinct.values() if len(words) == len(value.split())]
            chosen = same_length or list(distinct.values())
            if method == "same amount":  # for 9.00, "9.00" rather than "9"
                decimals = [_decimal_places(" ".join(texts[i] for i in words)) for words in chosen]
                same_decimals = [
                    words for words, places in zip(chosen, decimals, strict=True) if places == _decimal_places(value)
                ]
                chosen = same_decimals or chosen
            return Occurrences(tuple(sorted(chosen, key=min)), method)
    return _approximate(pages, value)


def _decimal_places(text: str) -> int:
    """Return the number of digits after the last point or comma."""
    match = re.search(r"[.,](\d+)\D*$", text)
    return len(match[1]) if match else 0


def _searches(
    pages: Sequence[PageText], texts: Sequence[str], value: str
) -> Iterator[tuple[str, Iterable[tuple[int, ...]]]]:
    """Yield the search methods with their lazily evaluated results, the most reliable first."""
    folded, amount, date = fold(value), parse_number(value), parse_date(value)
    if not parse_amount(value):  # 9.00 folds to 900, which is a different amount
        yield "exact", (words for page in pages for words in page.exact(folded))
    if date:
        yield "same date", (words for page in pages for words in page.dates(date))
    if amount:
        yield "same amount", (words for page in pages for words in page.amounts(amount))
        magnitude = frozenset(abs(number) for number in amount if isinstance(number, Decimal))
        yield "same amount", (words for page in pages for words in page.amounts(magnitude, loose=True))
    if not parse_amount(value) and len(folded) >= MIN_INSIDE_LENGTH:
        yield "inside words", (words for page in pages for words in page.inside(folded))
    if parse_amount(value):  # an amount in an unsupported notation, compared character by character
        normalized = " ".join(value.split())
        found = (words for page in pages for words in page.exact(folded))
        yield "exact", (words for words in found if " ".join(" ".join(texts[i] for i in words).split()) == normalized)


def _approximate(pages: Sequence[PageText], value: str) -> Occurrences | Miss:
    """Return the closest match if it is close enough and the value is not a number, a date or an identifier."""
    folded = fold(value)[:MAX_VALUE_LENGTH]
    candidates = [(*found, page) for page in pages if (found := page.closest(folded))]
    if not candidates:
        return Miss(value, "", len(folded))
    distance, words, page = min(candidates, key=lambda item: item[0])
    # Identifiers that differ in one digit refer to different things.
    is_identifier = len(value.split()) == 1 and any(c.isdigit() for c in value)
    suitable_length = MIN_APPROXIMATE_LENGTH <= len(folded) < MAX_VALUE_LENGTH
    must_be_exact = is_identifier or parse_number(value) or parse_date(value) or not suitable_length
    if not must_be_exact and distance <= max(MAX_EDIT_SHARE * len(folded), 1):
        return Occurrences((words,), f"almost, {distance} of {len(folded)} characters differ")
    return Miss(value, page.text_of(words), distance)


def name_keys(name: str) -> tuple[str, ...]:
    """Return the words in the name of a field, folded, as beginnings of its caption."""
    return tuple(fold(part) for part in re.split(r"[\W_]+", name) if len(fold(part)) > 2)


def _choose(
    document: Document, found: Occurrences, keys: Sequence[str], other_values: Sequence[tuple[int, ...]], used: set[int]
) -> Match:
    """Choose an occurrence: preferably one next to the field name, then one next to the value of another field.

    Ties are resolved in favor of the first occurrence, or the last for amounts.
    """
    free = [words for words in found.words if used.isdisjoint(words)] or list(found.words)
    ends = np.array([(words[0], words[-1]) for words in other_values] or np.empty((0, 2)))

    def is_next_to_value(words: tuple[int, ...]) -> bool:
        after, before = ends[:, 0] - words[-1], words[0] - ends[:, 1]
        return bool((((after > 0) & (after <= _MAX_GAP)) | ((before > 0) & (before <= _MAX_GAP))).any())

    ranked = [(_field_name(document, words, tuple(keys)), is_next_to_value(words), words) for words in free]
    if found.method == "same amount":  # a total is printed after the amounts that it sums up
        ranked.reverse()
    field_name, next_to_value, chosen = max(ranked, key=lambda item: (item[0].rank, item[1]))  # first one if tied
    count = len(found.words)
    if count == 1:
        reason = "only occurrence"
    elif field_name.text is not None:
        reason = f"next to {field_name.text!r}, {count} occurrences"
    elif next_to_value:
        reason = f"next to another value, {count} occurrences"
    else:
        reason = f"{'last' if found.method == 'same amount' else 'first'} of {count} occurrences"
    return Match(chosen, found.method, reason, tuple(words for words in found.words if words != chosen))


class _FieldName(NamedTuple):
    """Position of the field name: rank 3 left of the value, 2 above it, 1 left of it but naming another amount."""

    rank: int
    text: str | None


def _field_name(document: Document, words: Sequence[int], keys: tuple[str, ...]) -> _FieldName:
    """Search for the field name to the left of a value, then directly above it."""
    if not keys:
        return _FieldName(0, None)
    first = words[0]
    page = int(document.page_of_word[first])
    start = int(np.searchsorted(document.page_of_word, page))
    boxes, texts = document.pages[page].boxes, document.pages[page].texts
    x0, y0, x1, y1 = boxes[first - start].tolist()
    height, center_y = y1 - y0, (boxes[:, 1] + boxes[:, 3]) / 2
    left = (center_y > y0) & (center_y < y1) & (boxes[:, 0] < x0) & (boxes[:, 2] > x0 - _MAX_LEFT * height)
    above = (boxes[:, 3] <= y0 + height / 2) & (boxes[:, 3] > y0 - _MAX_ABOVE * height)
    above &= (boxes[:, 0] < x1) & (boxes[:, 2] > x0)
    row = sorted(np.flatnonzero(left).tolist(), key=lambda i: float(boxes[i, 0]))
    names = [i for i in row if fold(texts[i]).startswith(keys)]  # Total or TotalPrice, but not Subtotal
    if names:
        context = [fold(texts[i]) for i in row[max(row.index(names[-1]) - 1, 0) :]]
        is_other = any(text.startswith(prefix) for text in context for prefix in _OTHER_AMOUNTS if prefix not in keys)
        return _FieldName(1 if is_other else 3, texts[names[-1]])
    name_above = next((texts[i] for i in np.flatnonzero(above).tolist() if fold(texts[i]).startswith(keys)), None)
    return _FieldName(0 if name_above is None else 2, name_above)
