"""How well entities and fields are found, how sure one may be of it, and whether probabilities mean what they say."""

from formnet.evaluation.counts import Counts, Score
from formnet.evaluation.entities import entity_counts, word_counts
from formnet.evaluation.fields import FieldScore, field_counts

__all__ = ["Counts", "FieldScore", "Score", "entity_counts", "field_counts", "word_counts"]
