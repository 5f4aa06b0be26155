"""Precision, recall and F1 from counts, by type and over all, with the interval that the choice of documents leaves."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

#: How often other documents are drawn.
_SAMPLES = 1000


class Score(NamedTuple):
    """Shares between 0 and 1; F1 is 0 where nothing was right."""

    precision: float
    recall: float
    f1: float


@dataclass
class Tally:
    """How many there are, how many were found, and how many of those are right."""

    gold: int = 0
    found: int = 0
    right: int = 0

    def add(self, other: "Tally") -> None:
        """Take another's counts in."""
        self.gold += other.gold
        self.found += other.found
        self.right += other.right

    @property
    def score(self) -> Score:
        """What the counts amount to."""
        precision = self.right / self.found if self.found else 0.0
        recall = self.right / self.gold if self.gold else 0.0
        return Score(precision, recall, 2 * precision * recall / (precision + recall) if self.right else 0.0)


@dataclass
class Counts:
    """Tallies by type."""

    by_type: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))

    @property
    def micro(self) -> Tally:
        """All types together."""
        return total(self.by_type.values())

    @property
    def macro_f1(self) -> float:
        """The mean of the types' F1, over types that there are."""
        scores = [tally.score.f1 for tally in self.by_type.values() if tally.gold]
        return sum(scores) / len(scores) if scores else 0.0

    def add(self, other: "Counts") -> None:
        """Take another's counts in."""
        for label, tally in other.by_type.items():
            self.by_type[label].add(tally)

    def to_json(self) -> dict[str, Any]:
        """Give scores and counts as plain data."""
        types = {label: self.by_type[label] for label in sorted(self.by_type)}
        return {**_plain(self.micro), "macro_f1": self.macro_f1, "per_type": {k: _plain(v) for k, v in types.items()}}


def total(tallies: Iterable[Tally]) -> Tally:
    """Add tallies up."""
    result = Tally()
    for tally in tallies:
        result.add(tally)
    return result


def sum_counts(counts: Iterable[Counts]) -> Counts:
    """Add documents' counts up."""
    result = Counts()
    for part in counts:
        result.add(part)
    return result


def bootstrap(counts: Sequence[Counts]) -> tuple[float, float]:
    """Give the interval of micro F1, 95 % of it, had other documents been drawn from where these come from."""
    if not counts:
        return 0.0, 0.0
    rows = np.array([(c.micro.gold, c.micro.found, c.micro.right) for c in counts], np.float64)
    drawn = np.random.default_rng(0).integers(len(rows), size=(_SAMPLES, len(rows)))
    gold, found, right = rows[drawn].sum(axis=1).T
    f1 = 2 * right / np.maximum(gold + found, 1)
    low, high = np.percentile(f1, (2.5, 97.5))
    return float(low), float(high)


def _plain(tally: Tally) -> dict[str, Any]:
    score = tally.score
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "gold": tally.gold,
        "found": tally.found,
        "right": tally.right,
    }
