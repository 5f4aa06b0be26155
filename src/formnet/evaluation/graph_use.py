"""How much a model uses the page graph: its score when the graph is edited."""

from collections.abc import Sequence
from copy import copy

from formnet.document import Document
from formnet.encoding.graph_edits import GRAPH_EDITS, GraphEditingEncoder
from formnet.errors import SettingsError
from formnet.evaluation.evaluate import compute_metrics, headline_f1, predict_and_compare
from formnet.extraction.extractor import Extractor


def graph_use(extractor: Extractor, documents: Sequence[Document]) -> dict[str, float]:
    """Return F1 with the graph as it is, and with each edit."""
    if not extractor.model.config.super_tokens:
        raise SettingsError("the model has no super-tokens, so there is no graph to edit.")
    scores = {"as_is": headline_f1(compute_metrics(*predict_and_compare(extractor, documents)))}
    for edit in GRAPH_EDITS:
        edited = copy(extractor)
        edited.encoder = GraphEditingEncoder(extractor.encoder.tokenizer, edit, segments=extractor.encoder.segments)
        scores[edit] = headline_f1(compute_metrics(*predict_and_compare(edited, documents)))
    return scores
