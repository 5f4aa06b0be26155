"""Calibration of confidence scores: fitting on held-out documents, reliability, and coverage at a precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression, minimize
from scipy.stats import beta

from formnet.extraction.calibration import LabelCalibration

BINS = 10
#: Precision that thresholds are chosen for.
NOMINAL_PRECISION = 0.99
#: Standard deviation of a label's parameters around those of all labels, and of these around the identity.
LABEL_DEVIATION, POOLED_DEVIATION = 0.5, 1.0

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Outcomes:
    """Predicted entities of one label on held-out documents: log-odds of their probability, and whether correct."""

    log_odds: Floats  # [E]
    correct: NDArray[np.bool_]  # [E]

    @classmethod
    def join(cls, parts: Sequence["Outcomes"]) -> "Outcomes":
        """Concatenate outcomes."""
        return cls(
            np.concatenate([np.empty(0), *(part.log_odds for part in parts)]),
            np.concatenate([np.empty(0, np.bool_), *(part.correct for part in parts)]),
        )


@dataclass(frozen=True)
class Reliability:
    """Entities in bins of equal width by confidence."""

    confidence: Floats  # [BINS] mean confidence, NaN for an empty bin
    accuracy: Floats  # [BINS] share of correct entities
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


def reliability(confidences: Sequence[float] | Floats, correct: Sequence[bool] | NDArray[np.bool_]) -> Reliability:
    """Bin entities by confidence."""
    p, c = np.asarray(confidences, np.float64), np.asarray(correct, np.float64)
    bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    count = np.bincount(bins, minlength=BINS)
    with np.errstate(invalid="ignore"):
        confidence, accuracy = (np.bincount(bins, values, BINS) / count for values in (p, c))
    return Reliability(confidence, accuracy, count)


def fit_calibration(outcomes: Mapping[str, Outcomes]) -> dict[str, LabelCalibration]:
    """Fit slope and intercept of each label by maximum likelihood, and its threshold.

    Labels with few entities keep close to the parameters of all labels together, and these to the identity.
    """
    pooled = fit_platt(Outcomes.join(list(outcomes.values())), (1.0, 0.0), POOLED_DEVIATION)
    parameters = {label: fit_platt(outcome, pooled, LABEL_DEVIATION) for label, outcome in outcomes.items()}
    scores = {label: apply_platt(outcome.log_odds, *parameters[label]) for label, outcome in outcomes.items()}
    thresholds = choose_thresholds(scores, {label: outcome.correct for label, outcome in outcomes.items()})
    return {label: LabelCalibration(*parameters[label], thresholds[label]) for label in outcomes}


def fit_platt(
    outcomes: Outcomes, prior: tuple[float, float], deviation: float, *, fixed_intercept: bool = False
) -> tuple[float, float]:
    """Fit slope and intercept with a Gaussian prior around the given ones; with `fixed_intercept`, only the slope."""
    x, y = outcomes.log_odds, np.where(outcomes.correct, 1.0, -1.0)

    def loss(parameters: Floats) -> float:
        slope, intercept = parameters
        penalty = 0.5 * (((parameters - prior) / deviation) ** 2).sum()
        return float(np.logaddexp(0, -y * (slope * x + intercept)).sum() + penalty)

    bounds = ((0.01, 10), (prior[1], prior[1]) if fixed_intercept else (-10, 10))
    slope, intercept = minimize(loss, prior, bounds=bounds).x.tolist()
    return slope, intercept


def apply_platt(log_odds: Floats, slope: float, intercept: float) -> Floats:
    """Compute calibrated scores."""
    return 1 / (1 + np.exp(-(slope * log_odds + intercept)))


def fit_isotonic(outcomes: Outcomes) -> tuple[Floats, Floats]:
    """Fit an increasing step function of log-odds; return its points for linear interpolation."""
    order = np.argsort(outcomes.log_odds, kind="stable")
    fitted = isotonic_regression(outcomes.correct[order].astype(np.float64)).x
    return outcomes.log_odds[order], fitted


def choose_thresholds(
    scores: Mapping[str, Floats], correct: Mapping[str, NDArray[np.bool_]]
) -> dict[str, float | None]:
    """Choose the lowest score per label at which its predictions reach the nominal precision, counting one more error.

    Labels with too few predictions to reach it by themselves share a threshold.
    """
    enough = round(1 / (1 - NOMINAL_PRECISION))
    frequent = {label for label, values in scores.items() if len(values) >= enough}
    rare = [label for label in scores if label not in frequent]
    shared = choose_threshold(
        np.concatenate([np.empty(0), *(scores[label] for label in rare)]),
        np.concatenate([np.empty(0, np.bool_), *(correct[label] for label in rare)]),
    )
    return {label: choose_threshold(scores[label], correct[label]) if label in frequent else shared for label in scores}


def choose_threshold(scores: Floats, correct: NDArray[np.bool_]) -> float | None:
    """Choose the lowest score at which predictions reach the nominal precision, counting one more error."""
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    precisions = np.cumsum(correct[order]) / np.arange(2, len(order) + 2)
    last_of_equals = np.append(ranked[1:] < ranked[:-1], True)[: len(ranked)]  # equal scores cannot be separated
    sufficient = np.flatnonzero((precisions >= NOMINAL_PRECISION) & last_of_equals)
    return float(ranked[sufficient[-1]]) if len(sufficient) else None


def clopper_pearson(successes: int, trials: int) -> tuple[float, float]:
    """Compute the exact two-sided 95 % confidence interval of a proportion.

    >>> [round(bound, 4) for bound in clopper_pearson(98, 100)]
    [0.9296, 0.9976]
    """
    tail = 0.025
    low = float(beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0
    high = float(beta.ppf(1 - tail, successes + 1, trials - successes)) if successes < trials else 1.0
    return low, high


def proportion(successes: int, trials: int) -> dict[str, Any]:
    """Describe a proportion with its counts and its exact interval."""
    share = successes / trials if trials else None
    return {"share": share, "interval": clopper_pearson(successes, trials), "right": successes, "of": trials}


def risk_coverage(
    confidences: Sequence[float] | Floats, correct: Sequence[bool] | NDArray[np.bool_]
) -> list[dict[str, float]]:
    """Compute the share of errors among the most confident predictions, for up to a hundred coverages."""
    order = np.argsort(-np.asarray(confidences, np.float64), kind="stable")
    errors = np.cumsum(~np.asarray(correct, np.bool_)[order])
    counts = np.unique(np.linspace(1, len(order), min(len(order), 100)).round().astype(np.intp))
    return [{"coverage": float(n / len(order)), "risk": float(errors[n - 1] / n)} for n in counts]
