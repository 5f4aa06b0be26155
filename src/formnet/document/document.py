"""Word, Page, Document, Entity: the only things that pass between the rooms.

A page keeps its words as columns (texts, boxes) so that work on all words is work on arrays; `Word` is a
view for people. Words are numbered through the whole document, page after page, in reading order.
`formnet.document.builder` is the one way from anything read to a `Document`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formnet.document.boxes import Box, Boxes, line_boxes
from formnet.errors import DocumentError

#: Written into every JSON document; raised when a change would make old readers misread it.
SCHEMA = "formnet.document/1"


@dataclass(frozen=True, slots=True)
class Word:
    """One word as the page shows it."""

    text: str
    box: Box
    page: int
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """Something that was wrong with what was read, and what was done about it."""

    kind: str
    page: int
    word: int | None
    detail: str

    def __str__(self) -> str:
        where = f"page {self.page + 1}" + ("" if self.word is None else f", word {self.word}")
        return f"{where}: {self.kind}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Entity:
    """A labeled value: which words say it, in the order they are read, and where they stand."""

    label: str
    text: str
    words: tuple[int, ...]
    page: int
    boxes: tuple[Box, ...]  # one a line
    score: float | None = None  # the probability that it is just this
    ocr_score: float | None = None  # of the word that the OCR engine was least sure of
    day_first: bool | None = None  # whether 03/04 is in April, where who found it knows

    def __repr__(self) -> str:
        score = "" if self.score is None else f", {self.score:.3f}"
        return f"Entity({self.label}: {self.text!r}, page {self.page + 1}{score})"


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """The words of one page as columns, in reading order, with the page's size in the same units."""

    width: float
    height: float
    texts: tuple[str, ...]
    boxes: Boxes  # [W, 4]
    confidences: NDArray[np.float64] | None = None  # [W]
    image: Path | None = None  # the scan, or the file of several pages that it is one of
    frame: int = 0  # which of them
    text_source: str | None = None  # what read its words: an OCR engine, a PDF's own text

    def __post_init__(self) -> None:
        assert self.boxes.shape == (len(self.texts), 4)
        self.boxes.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Page):
            return NotImplemented
        same = (self.width, self.height, self.texts) == (other.width, other.height, other.texts)
        same = same and (self.image, self.frame, self.text_source) == (other.image, other.frame, other.text_source)
        return same and np.array_equal(self.boxes, other.boxes) and _same(self.confidences, other.confidences)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Page({self.width:g} × {self.height:g}, {len(self.texts)} words: {_opening(self.texts)})"

    @property
    def normalized_boxes(self) -> Boxes:
        """Boxes as shares of the page, each number between 0 and 1: [W, 4]."""
        return np.divide(self.boxes, (self.width, self.height, self.width, self.height))

    def take(self, order: NDArray[np.intp]) -> "Page":
        """Give the same page with its words in another order."""
        return replace(
            self,
            texts=tuple(self.texts[i] for i in order.tolist()),
            boxes=self.boxes[order],
            confidences=None if self.confidences is None else self.confidences[order],
        )


@dataclass(frozen=True)
class Document:
    """Pages of words; what is known of them (entities, links between entities, keyed-in fields)."""

    id: str
    pages: tuple[Page, ...]
    entities: tuple[Entity, ...] = ()
    links: tuple[tuple[int, int], ...] = ()  # (question, answer) as indices into entities
    fields: Mapping[str, str] = field(default_factory=dict)
    repairs: tuple[Repair, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        head = f"Document({self.id!r}: {self.num_words} words, {len(self.entities)} entities"
        if self.fields:
            head += f", {len(self.fields)} fields"
        return "\n  ".join([head, *map(repr, self.pages)]) + ")"

    @cached_property
    def num_words(self) -> int:
        """How many words there are on all pages."""
        return sum(len(page.texts) for page in self.pages)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """All words' texts, page after page: [N]."""
        return tuple(chain.from_iterable(page.texts for page in self.pages))

    @cached_property
    def boxes(self) -> Boxes:
        """All words' boxes, each in the units of its page: [N, 4]."""
        return np.concatenate([page.boxes for page in self.pages] or [np.empty((0, 4))])

    @cached_property
    def page_of_word(self) -> NDArray[np.intp]:
        """The page each word stands on: [N]."""
        return np.repeat(np.arange(len(self.pages)), [len(page.texts) for page in self.pages])

    @property
    def words(self) -> Iterator[Word]:
        """The words one by one, for people and small jobs."""
        for number, page in enumerate(self.pages):
            certain: list[Any] = [None] * len(page.texts) if page.confidences is None else page.confidences.tolist()
            for text, box, confidence in zip(page.texts, page.boxes.tolist(), certain, strict=True):
                yield Word(text, tuple(box), number, confidence)

    def entity(self, label: str, words: Sequence[int], score: float | None = None) -> Entity:
        """Make an entity of some of this document's words, given in the order they are read."""
        if not words or min(words) < 0 or max(words) >= self.num_words or len(set(words)) < len(words):
            raise DocumentError(
                f"document {self.id!r}: entity {label!r} names words {shorten(words)}, "
                f"but it needs distinct words between 0 and {self.num_words - 1}."
            )
        pages = self.page_of_word[list(words)]
        if (pages != pages[0]).any():
            raise DocumentError(
                f"document {self.id!r}: entity {label!r} with words {shorten(words)} runs over a page break; "
                "give each page's part as an entity of its own."
            )
        text = " ".join(self.texts[i] for i in words)
        page = int(pages[0])
        return Entity(
            label, text, tuple(words), page, line_boxes(self.boxes[list(words)]), score, self._ocr_score(words, page)
        )

    def _ocr_score(self, words: Sequence[int], page: int) -> float | None:
        confidences = self.pages[page].confidences
        if confidences is None:
            return None
        return float(confidences[np.array(words) - np.searchsorted(self.page_of_word, page)].min())

    def to_json(self) -> dict[str, Any]:
        """Give what `formnet.io.readers.jsonl` reads back as an equal document (repairs aside)."""
        return {
            "schema": SCHEMA,
            "id": self.id,
            "pages": [_page_json(page) for page in self.pages],
            "entities": [_entity_json(entity) for entity in self.entities],
            "links": [list(link) for link in self.links],
            "fields": dict(self.fields),
        }


def _page_json(page: Page) -> dict[str, Any]:
    json: dict[str, Any] = {
        "width": page.width,
        "height": page.height,
        "words": list(page.texts),
        "boxes": page.boxes.tolist(),
    }
    if page.confidences is not None:
        json["confidences"] = page.confidences.tolist()
    if page.image is not None:
        json["image"] = whole_characters(page.image.as_posix())
    if page.frame:
        json["frame"] = page.frame
    if page.text_source is not None:
        json["text_source"] = page.text_source
    return json


def _entity_json(entity: Entity) -> dict[str, Any]:
    json: dict[str, Any] = {"label": entity.label, "text": entity.text, "words": list(entity.words)}
    if entity.score is not None:
        json["score"] = entity.score
    return json


def shorten(words: Sequence[int]) -> str:
    """Write out word numbers for a message, not all of them if they are many."""
    return str(list(words)) if len(words) <= 8 else f"{list(words[:8])}… ({len(words)} in all)"


def _same(a: NDArray[np.float64] | None, b: NDArray[np.float64] | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


def _opening(texts: Sequence[str], length: int = 48) -> str:
    text = " ".join(texts[:length])
    return repr(text if len(text) <= length else text[: length - 1] + "…")


def whole_characters(name: str) -> str:
    """Give a file's name as it can be written anywhere: on a disk, it need not be UTF-8."""
    return re.sub("[\ud800-\udfff]", "\ufffd", name)
