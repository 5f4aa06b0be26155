"""Precision, recall and F1 per entity type and over all types, with bootstrap intervals over documents."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

_BOOTSTRAP_SAMPLES = 1000


class Score(NamedTuple):
    """Precision, recall and F1 between 0 and 1; F1 is 0 if nothing is correct."""

    precision: float
    recall: float
    f1: float


@dataclass
class Tally:
    """Number of gold, predicted and correctly predicted items."""

    gold: int = 0
    predicted: int = 0
    correct: int = 0

    def add(self, other: "Tally") -> None:
        """Add another tally to this one."""
        self.gold += other.gold
        self.predicted += other.predicted
        self.correct += other.correct

    @property
    def score(self) -> Score:
        """Precision, recall and F1 of these counts."""
        precision = self.correct / self.predicted if self.predicted else 0.0
        recall = self.correct / self.gold if self.gold else 0.0
        return Score(precision, recall, 2 * precision * recall / (precision + recall) if self.correct else 0.0)


@dataclass
class Counts:
    """Tallies per entity type."""

    by_type: dict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))

    @property
    def micro(self) -> Tally:
        """The sum over all types."""
        return sum_tallies(self.by_type.values())

    @property
    def macro_f1(self) -> float:
        """The mean F1 over types with at least one gold item."""
        scores = [tally.score.f1 for tally in self.by_type.values() if tally.gold]
        return sum(scores) / len(scores) if scores else 0.0

    def add(self, other: "Counts") -> None:
        """Add other counts to these."""
        for label, tally in other.by_type.items():
            self.by_type[label].add(tally)

    def to_json(self) -> dict[str, Any]:
        """Return scores and counts as plain data."""
        types = {label: self.by_type[label] for label in sorted(self.by_type)}
        return {
            **_to_json(self.micro),
            "macro_f1": self.macro_f1,
            "per_type": {label: _to_json(tally) for label, tally in types.items()},
        }


def sum_tallies(tallies: Iterable[Tally]) -> Tally:
    """Return the sum of tallies."""
    result = Tally()
    for tally in tallies:
        result.add(tally)
    return result


def sum_counts(counts: Iterable[Counts]) -> Counts:
    """Return the sum of counts, for example over documents."""
    result = Counts()
    for part in counts:
        result.add(part)
    return result


def bootstrap_interval(counts: Sequence[Counts]) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of micro F1, resampling documents."""
    if not counts:
        return 0.0, 0.0
    rows = np.array([(c.micro.gold, c.micro.predicted, c.micro.correct) for c in counts], np.float64)
    samples = np.random.default_rng(0).integers(len(rows), size=(_BOOTSTRAP_SAMPLES, len(rows)))
    gold, predicted, correct = rows[samples].sum(axis=1).T
    f1 = 2 * correct / np.maximum(gold + predicted, 1)
    low, high = np.percentile(f1, (2.5, 97.5))
    return float(low), float(high)


def _to_json(tally: Tally) -> dict[str, Any]:
    score = tally.score
    return {
        "precision": score.precision,
        "recall": score.recall,
        "f1": score.f1,
        "gold": tally.gold,
        "found": tally.predicted,
        "right": tally.correct,
    }
