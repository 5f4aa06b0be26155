"""From anything read to a `Document`: the one place that repairs or refuses, renumbers, and remembers what it did."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from formnet.boxes import Boxes, fitting_size, page_size, repair
from formnet.document import Document, Entity, Page, Repair, shorten
from formnet.errors import DocumentError


class DocumentBuilder:
    """Collects pages, entities and links as they were read, numbered as they were read.

    Blank words are dropped, bad boxes repaired (or refused, with `strict`), and entities and links renumbered.

    >>> build = DocumentBuilder("receipt")
    >>> build.add_page(["Total", " ", "9.00"], [[10, 10, 60, 20], [0, 0, 0, 0], [70, 10, 99, 20]], 100, 200)
    >>> build.add_entity("total", [1, 2])
    >>> document = build.done()
    >>> document.entities
    (Entity(total: '9.00', page 1),)
    >>> print(document.repairs[0])
    page 1, word 1: blank word dropped: ' '
    """

    def __init__(self, id: str, *, strict: bool = False) -> None:  # noqa: A002
        self.id = id
        self.strict = strict
        self._pages: list[Page] = []
        self._kept: list[int] = []  # the word's number in the document, or -1 if dropped
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
    ) -> None:
        """Add a page; without a size the page is guessed around its words."""
        number = len(self._pages)
        array = self._box_array(texts, boxes, number)
        certain = self._confidence_array(texts, confidences, number)
        if width is None or height is None:
            width, height = page_size(array)
        if not (0 < width < np.inf and 0 < height < np.inf):
            raise DocumentError(f"{self._place(number)}: a page of {width} × {height} cannot be; give its size.")
        width, height = self._true_size(array, width, height, number)
        repaired, flaws = repair(array, width, height)
        filled = np.fromiter((bool(text.strip()) for text in texts), np.bool_, len(texts))
        for i in np.flatnonzero(~filled).tolist():
            self._note("blank word dropped", number, i, repr(texts[i]))
        for kind, mask in (
            ("inverted box turned round", flaws.inverted),
            ("box clipped to the page", flaws.outside),
            ("box without area widened", flaws.flat),
        ):
            for i in np.flatnonzero(mask & filled).tolist():
                what = f"{texts[i]!r} {array[i].tolist()} on {width:g} × {height:g}"
                if self.strict:
                    raise DocumentError(f"{self._place(number, i)}: {what} needs repair ({kind}).")
                self._note(kind, number, i, f"{what} → {repaired[i].tolist()}")
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
            )
        )

    def add_entity(self, label: str, words: Sequence[int], score: float | None = None) -> None:
        """Add an entity over words as numbered when read, blank ones counted."""
        if any(not 0 <= i < len(self._kept) for i in words):
            raise DocumentError(
                f"document {self.id!r}: entity {label!r} names words {shorten(words)}, "
                f"but the document has {len(self._kept)} words, numbered from 0."
            )
        self._entities.append((label, words, score))

    def add_link(self, question: int, answer: int) -> None:
        """Link two entities by their place among those added."""
        self._links.append((question, answer))

    def done(self, fields: Mapping[str, str] | None = None) -> Document:
        """Give the document, numbered anew."""
        bare = Document(self.id, tuple(self._pages))
        entities: list[Entity] = []
        renumbered: dict[int, int] = {}
        for old, (label, words, score) in enumerate(self._entities):
            kept = [self._kept[i] for i in words if self._kept[i] >= 0]
            if not kept:
                self._repairs.append(Repair("empty entity dropped", 0, None, label))
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
                self._repairs.append(Repair(kind, 0, None, f"{question} → {answer}"))
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
        try:
            array = np.array(boxes, dtype=np.float64).reshape(len(texts), 4)
        except (TypeError, ValueError, OverflowError) as error:
            self._refuse_ragged(texts, boxes, page)
            raise DocumentError(f"{self._place(page)}: boxes are not four numbers for each word.") from error
        if not np.isfinite(array).all():
            i = int(np.flatnonzero(~np.isfinite(array).all(axis=1))[0])
            raise DocumentError(
                f"{self._place(page, i)}: {texts[i]!r} has the box {array[i].tolist()}; "
                "coordinates must be finite numbers. Correct or remove the word."
            )
        return array

    def _true_size(self, boxes: Boxes, width: float, height: float, page: int) -> tuple[float, float]:
        """Mend a size that does not fit the words: sides swapped (a rotation flag ignored), or too small."""
        size = fitting_size(boxes, width, height)
        if size != (width, height):
            what = "page sides swapped" if size == (height, width) else "page grown around its words"
            detail = f"{width:g} × {height:g} → {size[0]:g} × {size[1]:g}"
            if self.strict:
                raise DocumentError(f"{self._place(page)}: {detail} needs repair ({what}).")
            self._repairs.append(Repair(what, page, None, detail))
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
        if not ((array >= 0) & (array <= 1)).all():
            i = int(np.flatnonzero(~((array >= 0) & (array <= 1)))[0])
            raise DocumentError(
                f"{self._place(page, i)}: confidence {array[i]} of {texts[i]!r} is not between 0 and 1."
            )
        return array

    def _refuse_ragged(self, texts: Sequence[str], boxes: Any, page: int) -> None:
        """Find the one box that spoils the array, to be able to name its word."""
        if not isinstance(boxes, Sequence):
            return
        if len(boxes) != len(texts):
            raise DocumentError(f"{self._place(page)}: {len(texts)} words but {len(boxes)} boxes.")
        for i, box in enumerate(boxes):
            good = isinstance(box, Sequence) and len(box) == 4
            if not good or not all(isinstance(number, int | float) for number in box):
                raise DocumentError(
                    f"{self._place(page, i)}: {texts[i]!r} has the box {box!r}; a box is four numbers x0, y0, x1, y1."
                )

    def _place(self, page: int, word: int | None = None) -> str:
        return f"document {self.id!r}, page {page + 1}" + ("" if word is None else f", word {word}")

    def _note(self, kind: str, page: int, word: int, detail: str) -> None:
        self._repairs.append(Repair(kind, page, word, detail))
