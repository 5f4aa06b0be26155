"""Lines of a receipt on a grid of characters, as registers print them, converted to words and boxes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from formnet.document import Document
from formnet.document.builder import DocumentBuilder

Align = Literal["left", "right", "center"]


@dataclass
class Cell:
    """Text on a line: with a label, an entity whose first `key_words` words are its caption."""

    text: str
    align: Align = "left"
    column: int = 0  # of the first character, or of the end if aligned to the right
    label: str | None = None
    key_words: int = 0


@dataclass
class _Word:
    text: str
    line: int
    column: float
    scale: float


@dataclass
class Grid:
    """Lines of cells with entities and links, `width` characters wide."""

    width: int
    words: list[_Word] = field(default_factory=list)
    entities: list[tuple[str, list[int], list[int]]] = field(default_factory=list)  # label, words, key words
    links: list[tuple[int, int]] = field(default_factory=list)
    num_lines: int = 0

    def add_line(self, *cells: Cell, scale: float = 1.0) -> list[int]:
        """Add a line of cells, each scaled; return the numbers of the entities that it adds."""
        added = []
        for cell in cells:
            words = self._add_words(cell, scale)
            if cell.label is not None and words:
                added.append(len(self.entities))
                self.entities.append((cell.label, words, words[: cell.key_words]))
        self.num_lines += 1
        return added

    def continue_entity(self, number: int, cell: Cell, *, scale: float = 1.0) -> None:
        """Add a line that continues an entity."""
        self.entities[number][1].extend(self._add_words(cell, scale))
        self.num_lines += 1

    def skip(self, lines: int = 1) -> None:
        """Leave lines blank."""
        self.num_lines += lines

    def link(self, owner: int, parts: Sequence[int]) -> None:
        """Link an entity to its parts."""
        self.links += [(owner, part) for part in parts if part != owner]

    def _add_words(self, cell: Cell, scale: float) -> list[int]:
        length = len(cell.text) * scale
        start = {"left": cell.column, "right": cell.column - length, "center": (self.width - length) / 2}[cell.align]
        numbers, position = [], 0
        for text in cell.text.split():
            position = cell.text.index(text, position)
            numbers.append(len(self.words))
            self.words.append(_Word(text, self.num_lines, start + position * scale, scale))
            position += len(text)
        return numbers

    def to_document(self, name: str, generator: np.random.Generator) -> Document:
        """Place the words on a page of random size, with uneven lines and columns."""
        aspect = generator.uniform(1.5, 2.6)  # height of a line in characters
        size = generator.uniform(8, 24)  # width of a character in pixels
        left, top = generator.uniform(0.5, 6, 2)
        spacing = generator.uniform(0.55, 0.85)  # height of characters as a share of that of lines
        slope = generator.normal(0, 0.004)
        shift = generator.normal(0, 0.15, self.num_lines + 1).cumsum() * (generator.random() < 0.3)
        boxes = []
        for word in self.words:
            x0 = left + word.column + shift[word.line]
            x1 = x0 + len(word.text) * word.scale * 0.97
            y0 = top + word.line + slope * x0 + generator.normal(0, 0.02)
            y1 = y0 + spacing * (1.0 if word.scale == 1 else 1.15)
            boxes.append([x0 * size, y0 * size * aspect, x1 * size, y1 * size * aspect])
        array = np.array(boxes or np.empty((0, 4))).round(1)
        array -= np.minimum(array.min(axis=0)[[0, 1, 0, 1]], 0)  # no word is left of the page or above it
        width = max(array[:, 2].max() + generator.uniform(0.5, 6) * size, 1)
        height = array[:, 3].max() + generator.uniform(0.5, 6) * size * aspect
        builder = DocumentBuilder(name)
        builder.add_page([word.text for word in self.words], array, float(width), float(height))
        for label, words, keys in self.entities:
            builder.add_entity(label, words, key_words=keys)
        for owner, part in self.links:
            builder.add_link(owner, part)
        return builder.build()
