"""Word, Page, Document and Entity.

A page stores its words as columns (texts, boxes), so that code can process them as arrays; `Word` is a per-word view.
Words are numbered across the document, page by page in reading order.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formnet.document.boxes import Box, Boxes, level_boxes, line_boxes, rotate_boxes
from formnet.document.values.normalize import Value
from formnet.errors import DocumentError

#: Schema version in every JSON document; incremented on incompatible changes.
SCHEMA = "formnet.document/1"


@dataclass(frozen=True, slots=True)
class Word:
    """A word with its bounding box and page number."""

    text: str
    box: Box
    page: int
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """An error found in the input and how it was corrected."""

    kind: str
    page: int
    word: int | None
    detail: str

    def __str__(self) -> str:
        location = f"page {self.page + 1}" + ("" if self.word is None else f", word {self.word}")
        return f"{location}: {self.kind}: {self.detail}"


@dataclass(frozen=True, slots=True)
class Entity:
    """A labeled value: its words in reading order, and their position on the page."""

    label: str
    text: str  # the value as printed, without its caption; empty if there is only a caption
    words: tuple[int, ...]  # of the value and its caption
    page: int
    boxes: tuple[Box, ...]  # one per line of text
    score: float | None = None  # calibrated probability that this exact entity is correct
    ocr_score: float | None = None  # lowest OCR confidence among its words
    value: Value | None = None  # normalized by the extractor
    review: bool = False  # whether a person should check it
    key_words: tuple[int, ...] = ()  # those words that are the printed caption, such as "TOTAL (RM)"
    key_text: str = ""
    link_score: float | None = None  # calibrated probability of the link to its owner

    def renumber_words(self, numbers: NDArray[np.intp]) -> "Entity":
        """Return the entity in a document with other word numbers, given the new number of each word: [N]."""
        words, key_words = (tuple(numbers[list(part)].tolist()) for part in (self.words, self.key_words))
        return replace(self, words=words, key_words=key_words)

    def __repr__(self) -> str:
        score = "" if self.score is None else f", {self.score:.3f}"
        return f"Entity({self.label}: {self.text!r}, page {self.page + 1}{score})"


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """The words of a page as columns, in reading order; page size and boxes share the same units."""

    width: float
    height: float
    texts: tuple[str, ...]
    boxes: Boxes  # [W, 4]
    confidences: NDArray[np.float64] | None = None  # [W]
    image: Path | None = None  # scan of the page; may be a multi-page file
    frame: int = 0  # index of the page in `image`
    text_source: str | None = None  # source of the words: an OCR engine or the PDF text layer
    rotation: int = 0  # degrees that `image` is turned clockwise to set it upright, as the page is: 0, 90, 180 or 270

    def __post_init__(self) -> None:
        assert self.boxes.shape == (len(self.texts), 4)
        self.boxes.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Page):
            return NotImplemented
        equal = (self.width, self.height, self.texts) == (other.width, other.height, other.texts)
        equal = equal and (self.image, self.frame, self.text_source) == (other.image, other.frame, other.text_source)
        equal = equal and self.rotation == other.rotation
        return equal and np.array_equal(self.boxes, other.boxes) and _equal(self.confidences, other.confidences)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Page({self.width:g} × {self.height:g}, {len(self.texts)} words: {_preview(self.texts)})"

    @property
    def normalized_boxes(self) -> Boxes:
        """Boxes relative to the page size, with coordinates between 0 and 1: [W, 4]."""
        return np.divide(self.boxes, (self.width, self.height, self.width, self.height))

    def turn_back(self) -> "Page":
        """Return the page as its image shows it, which may lie on its side or upside down."""
        width, height = (self.width, self.height) if self.rotation % 180 == 0 else (self.height, self.width)
        boxes = rotate_boxes(self.boxes, -self.rotation, self.width, self.height)
        return replace(self, width=width, height=height, boxes=boxes, rotation=0)

    def level(self) -> "Page":
        """Return the page with its boxes turned so that tilted text is level; the image stays as it is."""
        boxes = level_boxes(self.boxes)
        if boxes is self.boxes:
            return self
        boxes = boxes - np.tile(np.minimum(boxes[:, :2].min(axis=0), 0), 2)
        width, height = np.maximum(boxes[:, 2:].max(axis=0), (self.width, self.height)).tolist()
        return replace(self, boxes=boxes, width=width, height=height)

    def take(self, order: NDArray[np.intp]) -> "Page":
        """Return a copy of the page with its words reordered."""
        return replace(
            self,
            texts=tuple(self.texts[i] for i in order.tolist()),
            boxes=self.boxes[order],
            confidences=None if self.confidences is None else self.confidences[order],
        )


class DocumentType(NamedTuple):
    """The recognized type of a document, named after the model for it, and its probability."""

    name: str
    score: float


@dataclass(frozen=True)
class Document:
    """Pages of words, with optional labels: entities, links between entities, and field values."""

    id: str
    pages: tuple[Page, ...]
    entities: tuple[Entity, ...] = ()
    links: tuple[tuple[int, int], ...] = ()  # (owner, part) as indices into entities, such as question and answer
    fields: Mapping[str, str] = field(default_factory=dict)
    annotated: frozenset[str] | None = None  # labels that were annotated; others may be missing. None: all labels
    type: DocumentType | None = None  # set by the extractor
    repairs: tuple[Repair, ...] = field(default=(), compare=False)

    def __repr__(self) -> str:
        head = f"Document({self.id!r}: {self.num_words} words, {len(self.entities)} entities"
        if self.fields:
            head += f", {len(self.fields)} fields"
        return "\n  ".join([head, *map(repr, self.pages)]) + ")"

    @cached_property
    def num_words(self) -> int:
        """Number of words on all pages."""
        return sum(len(page.texts) for page in self.pages)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Texts of all words, page by page: [N]."""
        return tuple(chain.from_iterable(page.texts for page in self.pages))

    @cached_property
    def boxes(self) -> Boxes:
        """Boxes of all words, each in the units of its page: [N, 4]."""
        return np.concatenate([page.boxes for page in self.pages] or [np.empty((0, 4))])

    @cached_property
    def page_of_word(self) -> NDArray[np.intp]:
        """Page index of each word: [N]."""
        return np.repeat(np.arange(len(self.pages)), [len(page.texts) for page in self.pages])

    @property
    def words(self) -> Iterator[Word]:
        """All words as `Word` objects."""
        for index, page in enumerate(self.pages):
            confidences: list[Any] = [None] * len(page.texts) if page.confidences is None else page.confidences.tolist()
            for text, box, confidence in zip(page.texts, page.boxes.tolist(), confidences, strict=True):
                yield Word(text, tuple(box), index, confidence)

    def entity(
        self, label: str, words: Sequence[int], score: float | None = None, key_words: Collection[int] = ()
    ) -> Entity:
        """Create an entity from word indices in reading order; those of its caption are not part of its text."""
        if not words or min(words) < 0 or max(words) >= self.num_words or len(set(words)) < len(words):
            raise DocumentError(
                f"document {self.id!r}: entity {label!r} has words {format_word_ids(words)}. "
                f"It must have one or more distinct words between 0 and {self.num_words - 1}."
            )
        pages = self.page_of_word[list(words)]
        if (pages != pages[0]).any():
            raise DocumentError(
                f"document {self.id!r}: entity {label!r} with words {format_word_ids(words)} crosses a page break. "
                "Create a separate entity on each page."
            )
        key_set = set(key_words)
        keys = tuple(i for i in words if i in key_set)
        if len(keys) < len(key_set):
            raise DocumentError(
                f"document {self.id!r}: entity {label!r} with words {format_word_ids(words)} has the key words "
                f"{format_word_ids(list(key_words))}, which must be among its words."
            )
        page = int(pages[0])
        return Entity(
            label,
            " ".join(self.texts[i] for i in words if i not in key_set),
            tuple(words),
            page,
            line_boxes(self.boxes[list(words)]),
            score,
            self._ocr_score(words, page),
            key_words=keys,
            key_text=" ".join(self.texts[i] for i in keys),
        )

    def rename_labels(self, names: Mapping[str, str]) -> "Document":
        """Return the document with other names for labels and fields; those without a new name keep theirs."""
        return replace(
            self,
            entities=tuple(replace(entity, label=names.get(entity.label, entity.label)) for entity in self.entities),
            fields={names.get(name, name): value for name, value in self.fields.items()},
        )

    def move_entity(self, entity: Entity, new_words: Callable[[int], Iterable[int]]) -> Entity | None:
        """Recreate an entity of another version of this document, given the new numbers of each word.

        Return None if no word is left.
        """
        words = [new for old in entity.words for new in new_words(old)]
        keys = [new for old in entity.key_words for new in new_words(old)]
        return self.entity(entity.label, words, entity.score, keys) if words else None

    def _ocr_score(self, words: Sequence[int], page: int) -> float | None:
        confidences = self.pages[page].confidences
        if confidences is None:
            return None
        return float(confidences[np.array(words) - np.searchsorted(self.page_of_word, page)].min())

    def turn_back(self) -> "Document":
        """Return the document with pages, words and entities as the images of its pages show them."""
        if not any(page.rotation for page in self.pages):
            return self
        entities = []
        for entity in self.entities:
            page = self.pages[entity.page]
            boxes = rotate_boxes(np.array(entity.boxes), -page.rotation, page.width, page.height)
            entities.append(replace(entity, boxes=tuple(map(tuple, boxes.tolist()))))
        return replace(self, pages=tuple(page.turn_back() for page in self.pages), entities=tuple(entities))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, which `formnet.io.readers.jsonl` parses to an equal document without repairs."""
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
        json["image"] = replace_surrogates(page.image.as_posix())
    if page.frame:
        json["frame"] = page.frame
    if page.text_source is not None:
        json["text_source"] = page.text_source
    if page.rotation:
        json["rotation"] = page.rotation
    return json


def _entity_json(entity: Entity) -> dict[str, Any]:
    json: dict[str, Any] = {"label": entity.label, "text": entity.text, "words": list(entity.words)}
    if entity.key_words:
        json["key_words"] = list(entity.key_words)
    if entity.score is not None:
        json["score"] = entity.score
    return json


def format_word_ids(words: Sequence[int]) -> str:
    """Format word indices for a message, truncating long lists."""
    return str(list(words)) if len(words) <= 8 else f"{list(words[:8])}… ({len(words)} in total)"


def _equal(a: NDArray[np.float64] | None, b: NDArray[np.float64] | None) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)


def _preview(texts: Sequence[str], length: int = 48) -> str:
    text = " ".join(texts[:length])
    return repr(text if len(text) <= length else text[: length - 1] + "…")


def replace_surrogates(name: str) -> str:
    """Replace the lone surrogates of a non-UTF-8 file name with U+FFFD, so that it can be encoded."""
    return re.sub("[\ud800-\udfff]", "\ufffd", name)
