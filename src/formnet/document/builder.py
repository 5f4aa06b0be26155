"""From anything read to a `Document`: the one place that repairs or refuses, renumbers, and remembers what it did."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formnet.document.boxes import Boxes, fitting_size, page_size, repair
from formnet.document.document import Document, Entity, Page, Repair, shorten, whole_characters
from formnet.errors import DocumentError

#: No page is larger, in whatever units, nor smaller than one over it.
LARGEST = 1e7
#: No more are remembered: a document this broken is told by its first ones.
MOST_REPAIRS = 10_000


class DocumentBuilder:
    """Collects pages, entities and links as they were read, numbered as they were read.

    Blank words are dropped, bad boxes repaired or refused, and entities and links renumbered.

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
        self.id = whole_characters(id)
        self._pages: list[Page] = []
        self._kept: list[int] = []  # the word's number in the document, or -1 if dropped
        self._page_of: list[int] = []
        self._kept_count = 0
        self._entities: list[tuple[str, Sequence[int], float | None]] = []
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
    ) -> None:
        """Add a page; without a size the page is guessed around its words."""
        number = len(self._pages)
        array = self._box_array(texts, boxes, number)
        certain = self._confidence_array(texts, confidences, number)
        filled = np.fromiter((bool(text.strip()) for text in texts), np.bool_, len(texts))
        guessed = page_size(array[filled])
        width, height = guessed[0] if width is None else width, guessed[1] if height is None else height
        if not (1 / LARGEST <= width <= LARGEST and 1 / LARGEST <= height <= LARGEST):
            raise DocumentError(f"{self._place(number)}: a page of {width:g} × {height:g} cannot be; give its size.")
        width, height = self._true_size(array[filled], width, height, number)
        repaired, flaws = repair(array, width, height)
        for i in np.flatnonzero(~filled).tolist():
            self._note("blank word dropped", number, i, repr(texts[i]))
        for kind, mask in (
            ("inverted box turned round", flaws.inverted),
            ("box clipped to the page", flaws.outside),
            ("box without area widened", flaws.flat),
        ):
            for i in np.flatnonzero(mask & filled).tolist():
                before, after = (np.round(boxes[i], 2).tolist() for boxes in (array, repaired))
                self._note(kind, number, i, f"{texts[i]!r} {before} on {width:g} × {height:g} → {after}")
        self._page_of.extend([number] * len(texts))
        self._kept.extend(np.where(filled, self._kept_count + np.cumsum(filled) - 1, -1).tolist())
        self._kept_count += int(filled.sum())
        self._pages.append(
            Page(
                float(width),
                float(height),
                tuple(text for text, keep in zip(texts, filled.tolist(), strict=True) if keep),
                repaired[filled],
                None if certain is None else certain[filled],
                None if image is None else image.absolute(),
                frame,
                text_source,
            )
        )

    def add_entity(self, label: str, words: Sequence[int], score: float | None = None) -> None:
        """Add an entity over words as numbered when read, blank ones counted."""
        if not label:
            raise DocumentError(f"document {self.id!r}: an entity over words {shorten(words)} has an empty label.")
        if any(not 0 <= i < len(self._kept) for i in words):
            raise DocumentError(
                f"document {self.id!r}: entity {label!r} names words {shorten(words)}, "
                f"but the document has {len(self._kept)} words, numbered from 0."
            )
        self._entities.append((label, words, score))

    def add_link(self, question: int, answer: int) -> None:
        """Link two entities by their place among those added."""
        self._links.append((question, answer))

    def build(self, fields: Mapping[str, str] | None = None) -> Document:
        """Give the document, numbered anew."""
        bare = Document(self.id, tuple(self._pages))
        entities: list[Entity] = []
        renumbered: dict[int, int] = {}
        for old, (label, words, score) in enumerate(self._entities):
            kept = [self._kept[i] for i in words if self._kept[i] >= 0]
            if not kept:
                self._note("empty entity dropped", self._page_of[words[0]] if words else 0, None, label)
                continue
            renumbered[old] = len(entities)
            entities.append(bare.entity(label, kept, score))
        links: dict[tuple[int, int], None] = {}
        for question, answer in self._links:
            if not (0 <= question < len(self._entities) and 0 <= answer < len(self._entities)):
                raise DocumentError(
                    f"document {self.id!r}: link {question} → {answer} names an entity that is not there "
                    f"({len(self._entities)} entities, numbered from 0)."
                )
            link = renumbered.get(question, -1), renumbered.get(answer, -1)
            if min(link) < 0 or link in links:
                kind = "repeated link dropped" if link in links else "link to an empty entity dropped"
                self._note(kind, 0, None, f"{question} → {answer}")
            else:
                links[link] = None
        return replace(
            bare,
            entities=tuple(entities),
            links=tuple(links),
            fields=dict(fields or {}),
            repairs=tuple(self._repairs),
        )

    def _box_array(self, texts: Sequence[str], boxes: Any, page: int) -> Boxes:
        if len(texts) == 0 and len(boxes) == 0:
            return np.empty((0, 4))
        if isinstance(boxes, Sequence) and _holds_text(boxes):  # of which NumPy would make every cell as wide
            self._refuse_ragged(texts, boxes, page)
        try:
            raw = np.asarray(boxes)
        except ValueError:  # rows of different lengths
            raw = np.empty(0, object)
        if raw.shape != (len(texts), 4) or raw.dtype.kind not in "iuf":
            self._refuse_ragged(texts, boxes, page)
            raise DocumentError(f"{self._place(page)}: boxes are not four numbers for each word.")
        array = raw.astype(np.float64)
        wild = ~(np.abs(array) <= LARGEST)  # NaN among them
        if wild.any():
            i = int(np.flatnonzero(wild.any(axis=1))[0])
            raise DocumentError(
                f"{self._place(page, i)}: {texts[i]!r} has the box {array[i].tolist()}; coordinates must be "
                f"finite numbers up to {LARGEST:g}. Correct or remove the word."
            )
        return array

    def _true_size(self, boxes: Boxes, width: float, height: float, page: int) -> tuple[float, float]:
        """Mend a size that does not fit the words: sides swapped (a rotation flag ignored), or too small."""
        size = fitting_size(boxes, width, height)
        if size != (width, height):
            what = "page sides swapped" if size == (height, width) else "page grown around its words"
            self._note(what, page, None, f"{width:g} × {height:g} → {size[0]:g} × {size[1]:g}")
        return size

    def _confidence_array(
        self, texts: Sequence[str], confidences: Sequence[float] | None, page: int
    ) -> NDArray[np.float64] | None:
        if confidences is None:
            return None
        try:
            array = np.array(confidences, dtype=np.float64).reshape(len(texts))
        except (TypeError, ValueError, OverflowError) as error:
            raise DocumentError(f"{self._place(page)}: confidences are not one number for each word.") from error
        near = (array >= -1e-6) & (array <= 1 + 1e-6)  # some engines give a hair more than all
        if not near.all():
            i = int(np.flatnonzero(~near)[0])
            told = f"confidence {array[i]} of {texts[i]!r} is not between 0 and 1; divide percentages by 100"
            raise DocumentError(f"{self._place(page, i)}: {told}.")
        return array.clip(0, 1)

    def _refuse_ragged(self, texts: Sequence[str], boxes: Any, page: int) -> None:
        """Find the one box that spoils the array, to be able to name its word."""
        if not isinstance(boxes, Sequence):
            return
        if len(boxes) != len(texts):
            raise DocumentError(f"{self._place(page)}: {len(texts)} words but {len(boxes)} boxes.")
        for i, box in enumerate(boxes):
            good = isinstance(box, Sequence) and len(box) == 4
            if not good or not all(isinstance(n, int | float) and not isinstance(n, bool) for n in box):
                told = f"{texts[i]!r} has the box {box!r:.80}"
                raise DocumentError(f"{self._place(page, i)}: {told}; a box is four numbers x0, y0, x1, y1.")

    def _place(self, page: int, word: int | None = None) -> str:
        return f"document {self.id!r}, page {page + 1}" + ("" if word is None else f", word {word}")

    def _note(self, kind: str, page: int, word: int | None, detail: str) -> None:
        if len(self._repairs) < MOST_REPAIRS:
            self._repairs.append(Repair(kind, page, word, detail))


def _holds_text(boxes: Sequence[Any]) -> bool:
    return any(isinstance(side, str | bytes) for box in boxes if isinstance(box, Sequence) for side in box)
