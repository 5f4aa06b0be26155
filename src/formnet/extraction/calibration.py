"""Calibrated scores: Platt scaling of an entity's log-odds, with parameters per label."""

from dataclasses import dataclass
from math import exp, log

#: Probabilities are clipped to this distance from 0 and 1 before taking log-odds.
CLIP = 1e-6


@dataclass(frozen=True)
class LabelCalibration:
    """Parameters of one label; the default leaves probabilities as they are."""

    slope: float = 1.0
    intercept: float = 0.0
    #: Lowest calibrated score at which predictions reach the nominal precision; None if no score does.
    threshold: float | None = None

    def calibrate(self, probability: float) -> float:
        """Map the probability of a decoded entity to the probability that the entity is correct."""
        if self.slope == 1 and self.intercept == 0:
            return probability
        return 1 / (1 + exp(-(self.slope * log_odds(probability) + self.intercept)))

    def accepts(self, score: float | None) -> bool:
        """Return whether a calibrated score is high enough to accept an entity without review."""
        return self.threshold is not None and (score or 0.0) >= self.threshold


def log_odds(probability: float) -> float:
    """Return the log-odds of a probability.

    >>> log_odds(0.5), round(log_odds(1.0), 1)
    (0.0, 13.8)
    """
    clipped = min(max(probability, CLIP), 1 - CLIP)
    return log(clipped / (1 - clipped))
