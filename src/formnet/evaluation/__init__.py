"""Evaluation against ground truth: entity and field scores, bootstrap intervals and calibration."""

from formnet.evaluation.counts import Counts, Score
from formnet.evaluation.entities import entity_counts, word_counts
from formnet.evaluation.fields import FieldScore, field_counts

__all__ = ["Counts", "FieldScore", "Score", "entity_counts", "field_counts", "word_counts"]
