"""Edits of the page graph, to measure what a trained model uses it for."""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.encoding.collate import PADDING_INDEX
from formnet.encoding.encoder import EncodedDocument, Encoder

GraphEdit = Literal["messages_cut", "edges_shuffled", "edge_features_zeroed"]
GRAPH_EDITS: tuple[GraphEdit, ...] = get_args(GraphEdit)


def edit_graph(document: EncodedDocument, edit: GraphEdit, seed: int = 0) -> EncodedDocument:
    """Return a copy without edges, with edges that lead to other words, or with edges that have no features."""
    if edit == "messages_cut":
        return replace(document, neighbors=np.full_like(document.neighbors, PADDING_INDEX))
    if edit == "edge_features_zeroed":
        return replace(document, edge_features=np.zeros_like(document.edge_features))
    permutation = np.random.default_rng(seed).permutation(document.num_words)
    has_edge = document.neighbors != PADDING_INDEX
    neighbors = np.where(has_edge, permutation[np.where(has_edge, document.neighbors, 0)], PADDING_INDEX)
    return replace(document, neighbors=neighbors)


class GraphEditingEncoder(Encoder):
    """An encoder whose documents have edited graphs."""

    def __init__(self, tokenizer: Tokenizer, edit: GraphEdit, *, segments: bool = False) -> None:
        super().__init__(tokenizer, segments=segments)
        self.edit = edit

    def __call__(self, document: Document) -> EncodedDocument:
        """Encode one document."""
        return edit_graph(super().__call__(document), self.edit)
