"""`DocumentBuilder`: validate parsed input, repair it where possible, and record the repairs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formnet.document.boxes import Boxes, correct_page_size, infer_page_size, repair_boxes
from formnet.document.document import Document, Entity, Page, Repair, format_word_ids, replace_surrogates
from formnet.errors import DocumentError

#: Maximum coordinate and page side in page units; the minimum page side is its reciprocal.
MAX_COORDINATE = 1e7
#: Characters of a word; longer ones are truncated. They are not words, but take a token per character.
MAX_WORD_LENGTH = 1_000
#: Maximum recorded repairs per document; later ones are made but not recorded.
MAX_REPAIRS = 10_000


class DocumentBuilder:
    """Build a document from pages, entities and links, with words and entities numbered as in the input.

    Blank words are dropped and entities and links renumbered. Invalid boxes are repaired or raise `DocumentError`.

    >>> builder = DocumentBuilder("receipt")
    >>> builder.add_page(["Total", " ", "9.00"], [[10, 10, 60, 20], [0, 0, 0, 0], [70, 10, 99, 20]], 100, 200)
    >>> builder.add_entity("total", [1, 2])
    >>> document = builder.build()
    >>> document.entities
    (Entity(total: '9.00', page 1),)
    >>> print(document.repairs[0])
    page 1, word 1: blank word dropped: ' '
    """

    def __init__(self, id: str) -> None:  # noqa: A002
        self.id = replace_surrogates(id)
        self._pages: list[Page] = []
        self._new_index: list[int] = []  # index of each input word in the document, −1 if dropped
        self._page_of_word: list[int] = []
        self._num_kept = 0
        self._entities: list[tuple[str, Sequence[int], float | None, Collection[int]]] = []
        self._links: list[tuple[int, int]] = []
        self._repairs: list[Repair] = []

    def add_page(
        self,
        texts: Sequence[str],
        boxes: Any,
        width: float | None = None,
        height: float | None = None,
        *,
        confidences: Sequence[float] | None = None,
        image: Path | None = None,
        frame: int = 0,
        text_source: str | None = None,
        rotation: int = 0,
    ) -> None:
        """Add a page; if the width or height is missing, it is inferred from the words."""
        index = len(self._pages)
        texts = self._truncate(texts, index)
        array = self._box_array(texts, boxes, index)
        confidence_array = self._confidence_array(texts, confidences, index)
        keep = np.fromiter((bool(text.strip()) for text in texts), np.bool_, len(texts))
        inferred = infer_page_size(array[keep])
        width, height = inferred[0] if width is None else width, inferred[1] if height is None else height
        if not (1 / MAX_COORDINATE <= width <= MAX_COORDINATE and 1 / MAX_COORDINATE <= height <= MAX_COORDINATE):
            raise DocumentError(
                f"{self._location(index)}: invalid page size {width:g} × {height:g}. Provide a valid width and height."
            )
        width, height = self._correct_size(array[keep], width, height, index)
        repaired, errors = repair_boxes(array, width, height)
        for i in np.flatnonzero(~keep).tolist():
            self._record_repair("blank word dropped", index, i, repr(texts[i]))
        for kind, mask in (
            ("inverted box turned round", errors.inverted),
            ("box clipped to the page", errors.outside),
            ("box without area widened", errors.flat),
        ):
            for i in np.flatnonzero(mask & keep).tolist():
                before, after = (np.round(boxes[i], 2).tolist() for boxes in (array, repaired))
                self._record_repair(kind, index, i, f"{texts[i]!r} {before} on {width:g} × {height:g} → {after}")
        self._page_of_word.extend([index] * len(texts))
        self._new_index.extend(np.where(keep, self._num_kept + np.cumsum(keep) - 1, -1).tolist())
        self._num_kept += int(keep.sum())
        self._pages.append(
            Page(
                float(width),
                float(height),
                tuple(text for text, is_kept in zip(texts, keep.tolist(), strict=True) if is_kept),
                repaired[keep],
                None if confidence_array is None else confidence_array[keep],
                None if image is None else image.absolute(),
                frame,
                text_source,
                rotation,
            )
        )

    @property
    def num_words(self) -> int:
        """The number of words added so far, including blank ones."""
        return len(self._new_index)

    def _truncate(self, texts: Sequence[str], index: int) -> Sequence[str]:
        for i, text in enumerate(texts):
            if len(text) > MAX_WORD_LENGTH:
                detail = f"{text[:20]!r}… of {len(text):,} characters"
                self._record_repair("long word truncated", index, i, detail)
        return [text[:MAX_WORD_LENGTH] for text in texts]

    def add_entity(
        self, label: str, words: Sequence[int], score: float | None = None, key_words: Collection[int] = ()
    ) -> None:
        """Add an entity over words, given by their index in the input (blank words included)."""
        if not label:
            raise DocumentError(f"document {self.id!r}: entity with words {format_word_ids(words)} has an empty label.")
        if any(not 0 <= i < len(self._new_index) for i in chain(words, key_words)):
            raise DocumentError(
                f"document {self.id!r}: entity {label!r} has words {format_word_ids(words)}, "
                f"but the document has {len(self._new_index)} words, numbered from 0."
            )
        self._entities.append((label, words, score, key_words))

    def add_link(self, owner: int, part: int) -> None:
        """Link two entities, such as a question and its answer, given by their index in the order they were added."""
        self._links.append((owner, part))

    def build(self, fields: Mapping[str, str] | None = None) -> Document:
        """Return the document, with words, entities and links renumbered."""
        unlabeled = Document(self.id, tuple(self._pages))
        entities: list[Entity] = []
        new_entity_index: dict[int, int] = {}
        for index, (label, words, score, key_words) in enumerate(self._entities):
            kept = [self._new_index[i] for i in words if self._new_index[i] >= 0]
            if not kept:
                self._record_repair("empty entity dropped", self._page_of_word[words[0]] if words else 0, None, label)
                continue
            new_entity_index[index] = len(entities)
            keys = [self._new_index[i] for i in key_words if self._new_index[i] >= 0]
            entities.append(unlabeled.entity(label, kept, score, keys))
        links: dict[tuple[int, int], None] = {}
        for owner, part in self._links:
            if not (0 <= owner < len(self._entities) and 0 <= part < len(self._entities)):
                raise DocumentError(
                    f"document {self.id!r}: link {owner} → {part} refers to a missing entity "
                    f"({len(self._entities)} entities, numbered from 0)."
                )
            link = new_entity_index.get(owner, -1), new_entity_index.get(part, -1)
            if min(link) < 0 or link in links:
                kind = "repeated link dropped" if link in links else "link to an empty entity dropped"
                self._record_repair(kind, 0, None, f"{owner} → {part}")
            else:
                links[link] = None
        return replace(
            unlabeled,
            entities=tuple(entities),
            links=tuple(links),
            fields=dict(fields or {}),
            repairs=tuple(self._repairs),
        )

    def _box_array(self, texts: Sequence[str], boxes: Any, page: int) -> Boxes:
        if len(texts) == 0 and len(boxes) == 0:
            return np.empty((0, 4))
        if isinstance(boxes, Sequence) and _contains_text(boxes):  # NumPy would pad every cell to the longest string
            self._raise_for_bad_box(texts, boxes, page)
        try:
            raw = np.asarray(boxes)
        except ValueError:  # rows of different lengths
            raw = np.empty(0, object)
        if raw.shape != (len(texts), 4) or raw.dtype.kind not in "iuf":
            self._raise_for_bad_box(texts, boxes, page)
            raise DocumentError(f"{self._location(page)}: boxes must be four numbers for each word.")
        array = raw.astype(np.float64)
        invalid = ~(np.abs(array) <= MAX_COORDINATE)  # NaN included
        if invalid.any():
            i = int(np.flatnonzero(invalid.any(axis=1))[0])
            raise DocumentError(
                f"{self._location(page, i)}: {texts[i]!r} has the box {array[i].tolist()}. Coordinates must be "
                f"finite numbers up to {MAX_COORDINATE:g}; correct or remove the word."
            )
        return array

    def _correct_size(self, boxes: Boxes, width: float, height: float, page: int) -> tuple[float, float]:
        """Correct a page size that does not fit the words: sides swapped (rotation ignored) or too small."""
        size = correct_page_size(boxes, width, height)
        if size != (width, height):
            kind = "page sides swapped" if size == (height, width) else "page grown around its words"
            self._record_repair(kind, page, None, f"{width:g} × {height:g} → {size[0]:g} × {size[1]:g}")
        return size

    def _confidence_array(
        self, texts: Sequence[str], confidences: Sequence[float] | None, page: int
    ) -> NDArray[np.float64] | None:
        if confidences is None:
            return None
        try:
            array = np.array(confidences, dtype=np.float64).reshape(len(texts))
        except (TypeError, ValueError, OverflowError) as error:
            raise DocumentError(f"{self._location(page)}: confidences must be one number for each word.") from error
        valid = (array >= -1e-6) & (array <= 1 + 1e-6)  # some engines exceed 1 by a rounding error
        if not valid.all():
            i = int(np.flatnonzero(~valid)[0])
            message = f"confidence {array[i]} of {texts[i]!r} is not between 0 and 1. Divide percentages by 100."
            raise DocumentError(f"{self._location(page, i)}: {message}")
        return array.clip(0, 1)

    def _raise_for_bad_box(self, texts: Sequence[str], boxes: Any, page: int) -> None:
        """Raise `DocumentError` for a wrong number of boxes, or for the first box that is not four numbers."""
        if not isinstance(boxes, Sequence):
            return
        if len(boxes) != len(texts):
            raise DocumentError(f"{self._location(page)}: {len(texts)} words but {len(boxes)} boxes.")
        for i, box in enumerate(boxes):
            has_four = isinstance(box, Sequence) and len(box) == 4
            if not has_four or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in box):
                message = f"{texts[i]!r} has the box {box!r:.80}. A box must be four numbers x0, y0, x1, y1."
                raise DocumentError(f"{self._location(page, i)}: {message}")

    def _location(self, page: int, word: int | None = None) -> str:
        return f"document {self.id!r}, page {page + 1}" + ("" if word is None else f", word {word}")

    def _record_repair(self, kind: str, page: int, word: int | None, detail: str) -> None:
        if len(self._repairs) < MAX_REPAIRS:
            self._repairs.append(Repair(kind, page, word, detail))


def _contains_text(boxes: Sequence[Any]) -> bool:
    try:
        types = set(map(type, chain.from_iterable(boxes)))  # fast: documents have many thousand coordinates
    except TypeError:  # not a sequence of boxes
        return False
    return any(issubclass(kind, str | bytes) for kind in types)
