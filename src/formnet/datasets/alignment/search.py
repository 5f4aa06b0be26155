"""Search for a value in the words of a page: exact, by parsed value, inside words, or approximate."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formnet.document.values.parse import Interpretations, ValueMatch, find_amounts, find_dates, fold


@dataclass(frozen=True)
class Occurrences:
    """All occurrences of a value, each as word indices in reading order, and the method that found them."""

    words: tuple[tuple[int, ...], ...]
    method: str


@dataclass(frozen=True)
class Match:
    """The chosen occurrence of a value, the match method, the reason for the choice, and the other occurrences."""

    words: tuple[int, ...]
    method: str
    reason: str
    others: tuple[tuple[int, ...], ...] = ()


class PageText:
    """The words of a page in a given order, as searchable text that maps back to word indices."""

    def __init__(self, texts: Sequence[str], words: NDArray[np.intp]) -> None:
        self._texts = list(texts)
        self._words = words  # [W] word indices in the document

    @cached_property
    def _folded(self) -> tuple[str, NDArray[np.intp], NDArray[np.intp]]:
        """The concatenated folded words, and the start and stop offset of each word: [W], [W]."""
        parts = [fold(text) for text in self._texts]
        stops = np.cumsum([len(part) for part in parts], dtype=np.intp)
        return "".join(parts), np.concatenate([[0], stops[:-1]]), stops

    @cached_property
    def _spaced(self) -> tuple[str, NDArray[np.intp]]:
        """The words joined by spaces, and the start offset of each word: [W]."""
        lengths = np.array([len(text) + 1 for text in self._texts], np.intp)
        return " ".join(self._texts), np.cumsum(lengths) - lengths

    def exact(self, folded: str) -> Iterator[tuple[int, ...]]:
        """Yield occurrences of the folded value that start and end at word boundaries."""
        _, starts, stops = self._folded
        begins, ends = set(starts.tolist()), set(stops.tolist())
        for at in self._occurrences(folded):
            if at in begins and at + len(folded) in ends:
                yield self._words_between(at, at + len(folded))

    def inside(self, folded: str) -> Iterator[tuple[int, ...]]:
        """Yield occurrences of the folded value inside words that do not split a number or a run of letters."""
        text, starts, stops = self._folded
        begins, ends = set(starts.tolist()), set(stops.tolist())
        for at in self._occurrences(folded):
            end = at + len(folded)
            cut_before = at not in begins and text[at].isdigit() == text[at - 1].isdigit()
            cut_after = end not in ends and text[end - 1].isdigit() == text[end].isdigit()
            if not (cut_before or cut_after):
                yield self._words_between(at, end)

    def amounts(self, value: Interpretations, *, loose: bool = False) -> Iterator[tuple[int, ...]]:
        """Yield equal amounts; if `loose`, ignore the sign and allow spaces as thousands separators."""
        yield from self._matching(find_amounts(self._spaced[0], loose=loose), value)

    def dates(self, value: Interpretations) -> Iterator[tuple[int, ...]]:
        """Yield equal dates."""
        yield from self._matching(find_dates(self._spaced[0]), value)

    def closest(self, folded: str) -> tuple[int, tuple[int, ...]] | None:
        """Return the edit distance and the words of the closest approximate match."""
        text, _, _ = self._folded
        if not text or not folded:
            return None
        target, pattern = _code_points(text), _code_points(folded)
        forward = edit_distances(pattern, target)  # [T + 1], by end of the match
        end = int(np.argmin(forward))
        backward = edit_distances(pattern[::-1], target[:end][::-1])
        length = int(np.flatnonzero(backward == backward.min())[-1])
        if length == 0:
            return None
        return int(forward[end]), self._words_between(end - length, end)

    def text_of(self, words: Sequence[int]) -> str:
        """Return the text of words, given by their indices in the document."""
        position = {int(word): i for i, word in enumerate(self._words)}
        return " ".join(self._texts[position[word]] for word in words)

    def _occurrences(self, folded: str) -> Iterator[int]:
        text = self._folded[0]
        at = text.find(folded) if folded else -1
        while at >= 0:
            yield at
            at = text.find(folded, at + 1)

    def _words_between(self, start: int, stop: int) -> tuple[int, ...]:
        _, starts, stops = self._folded
        first = int(np.searchsorted(stops, start, side="right"))
        last = int(np.searchsorted(starts, stop, side="left"))
        while last > first + 1 and starts[last - 1] == stops[last - 1]:  # trailing punctuation-only words
            last -= 1
        return tuple(self._words[first:last].tolist())

    def _matching(self, matches: Iterator[ValueMatch], value: Interpretations) -> Iterator[tuple[int, ...]]:
        starts = self._spaced[1]
        for match in matches:
            if match.interpretations & value:
                first = int(np.searchsorted(starts, match.start, side="right")) - 1
                last = int(np.searchsorted(starts, match.stop, side="left"))
                yield tuple(self._words[first:last].tolist())


def edit_distances(pattern: NDArray[np.uint32], text: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Return the minimum edit distance between the pattern and any substring of the text, by end position: [T + 1].

    Sellers' algorithm, vectorized over rows: insertions within a row are a running minimum of value − column.
    """
    column = np.arange(len(text) + 1)
    row = np.zeros(len(text) + 1, np.intp)
    for i, character in enumerate(pattern, 1):
        next_row = row + 1
        np.minimum(next_row[1:], row[:-1] + (text != character), out=next_row[1:])
        next_row[0] = i
        row = np.minimum.accumulate(next_row - column) + column
    return row


def _code_points(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)
