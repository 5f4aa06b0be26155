"""Calibration of confidence scores: reliability diagram, expected calibration error and temperature scaling."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from formnet.document import Document
from formnet.document.tags import TagScheme
from formnet.evaluation.entities import gold_spans
from formnet.evaluation.fields import are_correct
from formnet.extraction.decoding import decode

BINS = 10
#: Standard deviation of the Gaussian prior on the log temperature, whose mean is 0.
PRIOR_DEVIATION = 0.5


@dataclass(frozen=True)
class Reliability:
    """Entities in bins of equal width by confidence."""

    confidence: NDArray[np.float64]  # [BINS] mean confidence, NaN for an empty bin
    accuracy: NDArray[np.float64]  # [BINS] share of correct entities
    count: NDArray[np.int64]  # [BINS]

    @property
    def ece(self) -> float:
        """The expected calibration error: the mean of |confidence - accuracy|, weighted by entities per bin."""
        if not self.count.sum():
            return 0.0
        return float(np.nansum(np.abs(self.confidence - self.accuracy) * self.count) / self.count.sum())

    def to_json(self) -> dict[str, Any]:
        """Return the bins that are not empty as plain data."""
        return {
            "ece": self.ece,
            "bins": [
                {"confidence": float(c), "accuracy": float(a), "entities": int(n)}
                for c, a, n in zip(self.confidence, self.accuracy, self.count, strict=True)
                if n
            ],
        }


def reliability(confidences: Sequence[float], correct: Sequence[bool]) -> Reliability:
    """Bin entities by confidence."""
    p, c = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    with np.errstate(invalid="ignore"):
        confidence, accuracy = (np.bincount(bins, values, BINS) / count for values in (p, c))
    return Reliability(confidence, accuracy, count)


def fit_temperature(
    scores: Sequence[NDArray[np.floating]],
    documents: Sequence[Document],
    scheme: TagScheme,
    *,
    single_value: bool = False,
    label_all_occurrences: bool = False,
) -> float:
    """Fit the temperature that divides scores [W, T] by maximum likelihood of entity correctness.

    Fit it on held-out documents. No confidence threshold is applied, because a temperature that discards every entity
    would otherwise have no errors. The prior keeps the temperature near 1 if there are few documents or few errors.
    """

    def loss(log_temperature: float) -> float:
        total = 0.5 * (log_temperature / PRIOR_DEVIATION) ** 2
        for raw, document in zip(scores, documents, strict=True):
            scaled = raw[None] / np.exp(log_temperature)
            (predicted,) = decode(
                scaled,
                [document],
                scheme,
                single_value=single_value,
                label_all_occurrences=label_all_occurrences,
                min_probability=0.0,
            )
            correct = np.array(are_correct(document, predicted, scheme), np.bool_)
            confidence = np.clip([entity.score or 0.0 for entity in predicted], 1e-6, 1 - 1e-6)
            total -= float(np.log(np.where(correct, confidence, 1 - confidence)).sum())
        return total

    if not any(gold_spans(document, scheme) for document in documents):
        return 1.0
    return float(np.exp(minimize_scalar(loss, bounds=(-1.5, 2.5), method="bounded", options={"xatol": 0.01}).x))


def coverage_at_precision(
    confidences: Sequence[float], correct: Sequence[bool], precision: float = 0.99
) -> tuple[float, float]:
    """Return the lowest confidence threshold that reaches a precision, and the share of entities at or above it."""
    order = np.argsort(-np.asarray(confidences, np.float64), kind="stable")
    if not len(order):
        return 1.0, 0.0
    ranked = np.asarray(confidences, np.float64)[order]
    precisions = np.cumsum(np.asarray(correct, np.float64)[order]) / np.arange(1, len(order) + 1)
    last_of_equals = np.append(ranked[1:] < ranked[:-1], True)  # a threshold cannot separate equal confidences
    sufficient = np.flatnonzero((precisions >= precision) & last_of_equals)
    if not len(sufficient):
        return 1.0, 0.0
    last = int(sufficient[-1])
    return float(ranked[last]), (last + 1) / len(order)
