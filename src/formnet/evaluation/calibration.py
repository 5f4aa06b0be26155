"""Whether a probability means what it says: of entities said to be right with 0.9, are nine of ten?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from formnet.document import Document
from formnet.document.tags import TagScheme
from formnet.evaluation.entities import gold_spans
from formnet.evaluation.fields import right_entities
from formnet.extraction.decoding import decode

BINS = 10
#: How far from 0 the logarithm of a temperature is expected to be before anything is seen.
PRIOR_DEVIATION = 0.5


@dataclass(frozen=True)
class Reliability:
    """Entities by how sure the network was of them; bins of equal width."""

    confidence: NDArray[np.float64]  # [BINS] mean probability, NaN where a bin is empty
    accuracy: NDArray[np.float64]  # [BINS] share that is right
    count: NDArray[np.int64]  # [BINS]

    @property
    def ece(self) -> float:
        """The expected calibration error: how far apart the two are, on average over entities."""
        if not self.count.sum():
            return 0.0
        return float(np.nansum(np.abs(self.confidence - self.accuracy) * self.count) / self.count.sum())

    def to_json(self) -> dict[str, Any]:
        """Give the bins as plain data."""
        return {
            "ece": self.ece,
            "bins": [
                {"confidence": float(c), "accuracy": float(a), "entities": int(n)}
                for c, a, n in zip(self.confidence, self.accuracy, self.count, strict=True)
                if n
            ],
        }


def reliability(probabilities: Sequence[float], right: Sequence[bool]) -> Reliability:
    """Sort entities into bins by their probability."""
    p, r = np.asarray(probabilities, np.float64), np.asarray(right, np.float64)
    which = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(which, minlength=BINS)
    with np.errstate(invalid="ignore"):
        confidence, accuracy = (np.bincount(which, values, BINS) / count for values in (p, r))
    return Reliability(confidence, accuracy, count)


def fit_temperature(
    scores: Sequence[NDArray[np.floating]],
    documents: Sequence[Document],
    scheme: TagScheme,
    *,
    once: bool = False,
    everywhere: bool = False,
) -> float:
    """Find what to divide scores [W, T] by so that entities' probabilities are likeliest to be of what is right.

    To be fitted on held-out documents. Unlikely entities count here too: a temperature at which nothing is left would
    have nothing wrong. A few documents without a mistake say little, so the temperature is near one unless many differ.
    """

    def loss(log_temperature: float) -> float:
        total = 0.5 * (log_temperature / PRIOR_DEVIATION) ** 2
        for raw, document in zip(scores, documents, strict=True):
            scaled = raw[None] / np.exp(log_temperature)
            found = decode(scaled, [document], scheme, once=once, everywhere=everywhere, least=0.0)[0]
            right = np.array(right_entities(document, found, scheme), np.bool_)
            sure = np.clip([entity.score or 0.0 for entity in found], 1e-6, 1 - 1e-6)
            total -= float(np.log(np.where(right, sure, 1 - sure)).sum())
        return total

    if not any(gold_spans(document, scheme) for document in documents):
        return 1.0
    return float(np.exp(minimize_scalar(loss, bounds=(-1.5, 2.5), method="bounded", options={"xatol": 0.01}).x))


def passing_share(
    probabilities: Sequence[float], right: Sequence[bool], precision: float = 0.99
) -> tuple[float, float]:
    """Give the lowest threshold above which so many are right, and the share of entities that pass it."""
    order = np.argsort(-np.asarray(probabilities, np.float64), kind="stable")
    if not len(order):
        return 1.0, 0.0
    ranked = np.asarray(probabilities, np.float64)[order]
    good = np.cumsum(np.asarray(right, np.float64)[order]) / np.arange(1, len(order) + 1)
    last_of_equals = np.append(ranked[1:] < ranked[:-1], True)  # a threshold cannot tell equals apart
    enough = np.flatnonzero((good >= precision) & last_of_equals)
    if not len(enough):
        return 1.0, 0.0
    last = int(enough[-1])
    return float(ranked[last]), (last + 1) / len(order)
