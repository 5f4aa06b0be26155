"""Finding a value in one page's words: as it stands, by its meaning, inside words, or almost."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from formnet.document.values.parse import Found, Meaning, amounts, days, fold


@dataclass(frozen=True)
class Occurrences:
    """Every place that says a value, each as words in the order they are read, and how it was found."""

    words: tuple[tuple[int, ...], ...]
    how: str


@dataclass(frozen=True)
class Match:
    """A value found: the occurrence chosen, why it, and the others."""

    words: tuple[int, ...]
    how: str
    choice: str
    others: tuple[tuple[int, ...], ...] = ()


class PageText:
    """One page's words in one order, as text that can be searched and mapped back to words."""

    def __init__(self, texts: Sequence[str], words: NDArray[np.intp]) -> None:
        self._texts = list(texts)
        self._words = words  # [W] their numbers in the document

    @cached_property
    def _folded(self) -> tuple[str, NDArray[np.intp], NDArray[np.intp]]:
        """The folded characters of all words run together, each word's start and stop in them: [W], [W]."""
        parts = [fold(text) for text in self._texts]
        stops = np.cumsum([len(part) for part in parts], dtype=np.intp)
        return "".join(parts), np.concatenate([[0], stops[:-1]]), stops

    @cached_property
    def _spaced(self) -> tuple[str, NDArray[np.intp]]:
        """The words with spaces between, and each word's start: [W]."""
        lengths = np.array([len(text) + 1 for text in self._texts], np.intp)
        return " ".join(self._texts), np.cumsum(lengths) - lengths

    def exact(self, folded: str) -> Iterator[tuple[int, ...]]:
        """Find the folded value where it fills whole words."""
        _, starts, stops = self._folded
        begins, ends = set(starts.tolist()), set(stops.tolist())
        for at in self._occurrences(folded):
            if at in begins and at + len(folded) in ends:
                yield self._covering(at, at + len(folded))

    def inside(self, folded: str) -> Iterator[tuple[int, ...]]:
        """Find the folded value inside words, where it does not cut a number or a run of letters in two."""
        text, starts, stops = self._folded
        begins, ends = set(starts.tolist()), set(stops.tolist())
        for at in self._occurrences(folded):
            end = at + len(folded)
            cut_before = at not in begins and text[at].isdigit() == text[at - 1].isdigit()
            cut_after = end not in ends and text[end - 1].isdigit() == text[end].isdigit()
            if not (cut_before or cut_after):
                yield self._covering(at, end)

    def amounts(self, meaning: Meaning, *, loose: bool = False) -> Iterator[tuple[int, ...]]:
        """Find amounts equal to this one; loosely, whatever their sign and with spaces for thousands."""
        yield from self._meaning(amounts(self._spaced[0], loose=loose), meaning)

    def days(self, meaning: Meaning) -> Iterator[tuple[int, ...]]:
        """Find dates that are the same day."""
        yield from self._meaning(days(self._spaced[0]), meaning)

    def closest(self, folded: str) -> tuple[int, tuple[int, ...]] | None:
        """Find the words nearest to the folded value: how many characters differ, and the words."""
        text, _, _ = self._folded
        if not text or not folded:
            return None
        target, pattern = _codes(text), _codes(folded)
        forward = edit_distances(pattern, target)  # [T + 1], by where the match ends
        end = int(np.argmin(forward))
        backward = edit_distances(pattern[::-1], target[:end][::-1])
        length = int(np.flatnonzero(backward == backward.min())[-1])
        if length == 0:
            return None
        return int(forward[end]), self._covering(end - length, end)

    def say(self, words: Sequence[int]) -> str:
        """Give back the text of words."""
        place = {int(number): i for i, number in enumerate(self._words)}
        return " ".join(self._texts[place[word]] for word in words)

    def _occurrences(self, folded: str) -> Iterator[int]:
        text = self._folded[0]
        at = text.find(folded) if folded else -1
        while at >= 0:
            yield at
            at = text.find(folded, at + 1)

    def _covering(self, start: int, stop: int) -> tuple[int, ...]:
        _, starts, stops = self._folded
        first = int(np.searchsorted(stops, start, side="right"))
        last = int(np.searchsorted(starts, stop, side="left"))
        while last > first + 1 and starts[last - 1] == stops[last - 1]:  # trailing words of punctuation only
            last -= 1
        return tuple(self._words[first:last].tolist())

    def _meaning(self, found: Iterator[Found], meaning: Meaning) -> Iterator[tuple[int, ...]]:
        starts = self._spaced[1]
        for item in found:
            if item.meaning & meaning:
                first = int(np.searchsorted(starts, item.start, side="right")) - 1
                last = int(np.searchsorted(starts, item.stop, side="left"))
                yield tuple(self._words[first:last].tolist())


def edit_distances(pattern: NDArray[np.uint32], text: NDArray[np.uint32]) -> NDArray[np.intp]:
    """Give, for every end in the text, the fewest edits that turn some stretch ending there into the pattern: [T + 1].

    Sellers' algorithm, a row of the table at a time; a row's running minimum is taken of value − column.
    """
    column = np.arange(len(text) + 1)
    row = np.zeros(len(text) + 1, np.intp)
    for i, character in enumerate(pattern, 1):
        here = row + 1
        np.minimum(here[1:], row[:-1] + (text != character), out=here[1:])
        here[0] = i
        row = np.minimum.accumulate(here - column) + column
    return row


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)
