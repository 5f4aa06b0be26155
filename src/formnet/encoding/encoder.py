"""Encode a document as arrays: tokens with boxes, words with neighbors, and the mapping between them."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from formnet.document import Document, Page
from formnet.document.reading_order import join_cells
from formnet.document.tags import TagScheme
from formnet.encoding.graph import (
    EDGE_FEATURES,
    MAX_NEIGHBORS,
    NODE_FEATURES,
    SEGMENT_EDGE_FEATURES,
    SEGMENT_NODE_FEATURES,
    neighbors,
    page_graph,
)
from formnet.encoding.links import link_candidates
from formnet.encoding.tokenizer import padding_id, tokenize_words

#: Length of the longer side of every page; the other side keeps the aspect ratio.
PAGE_UNITS = 1000.0
#: Vertical gap between stacked pages.
PAGE_GAP = 100.0


class StructureScheme(NamedTuple):
    """Which structure a corpus labels: captions, and links between entities with these labels of owner and part."""

    has_keys: bool
    link_labels: frozenset[tuple[str, str]]
    linked_labels: tuple[str, ...]  # labels in these pairs, and in those of other heads, as the link head numbers them

    @classmethod
    def from_documents(cls, documents: Iterable[Document], labels: Collection[str]) -> "StructureScheme":
        """Return the structure that occurs in documents, with links between entities of the given labels."""
        has_keys, pairs = False, set()
        for document in documents:
            has_keys = has_keys or any(entity.key_words for entity in document.entities)
            pairs |= {(document.entities[owner].label, document.entities[part].label) for owner, part in document.links}
        pairs = {(owner, part) for owner, part in pairs if owner in labels and part in labels}
        return cls(has_keys, frozenset(pairs), tuple(sorted({label for pair in pairs for label in pair})))


class EncodedStructure(NamedTuple):
    """Captions and links of a labeled document as `formnet.modeling.links.StructureTargets`, without padding."""

    keys: NDArray[np.int64]  # [W]
    parts: NDArray[np.int64]  # [L]
    owners: NDArray[np.int64]  # [L, C]
    part_labels: NDArray[np.int64]  # [L]
    owner_labels: NDArray[np.int64]  # [L, C]
    pair_features: NDArray[np.float32]  # [L, C, F]
    owner: NDArray[np.int64]  # [L]


@dataclass(frozen=True, eq=False)
class EncodedDocument:
    """A document encoded for the network, with P tokens and W words."""

    id: str
    token_ids: NDArray[np.int64]  # [P]
    word_ids: NDArray[np.int64]  # [P] word index of each token
    token_boxes: NDArray[np.float32]  # [P, 4] in page units, pages stacked
    first_token: NDArray[np.int64]  # [W] index of the first token of each word
    node_features: NDArray[np.float32]  # [W, 10], or 20 with segments
    neighbors: NDArray[np.int64]  # [W, 8] word indices, padded with −1
    edge_features: NDArray[np.float32]  # [W, 8, 11], or 12 with segments
    tags: NDArray[np.int64] | NDArray[np.float32] | None = None  # [W], or probabilities [W, T]
    unknown_types: NDArray[np.bool_] | None = None  # [K] entity types that were not annotated; None: all were
    structure: "EncodedStructure | None" = None

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def num_words(self) -> int:
        """Number of words."""
        return len(self.first_token)

    def word_to_tokens(self, word: int) -> range:
        """Return the token indices of a word."""
        is_last = word + 1 == self.num_words
        return range(int(self.first_token[word]), len(self) if is_last else int(self.first_token[word + 1]))


class Encoder:
    """Encode documents as arrays with a tokenizer and, for labeled documents, a tag scheme.

    Documents are never truncated, whatever their length. With `structure`, captions and links are encoded, too; with
    `join_cells`, words are encoded in the order that keeps the lines of table cells together; and with `segments`, the
    page graph has their features.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        scheme: TagScheme | None = None,
        structure: "StructureScheme | None" = None,
        *,
        join_cells: bool = False,
        segments: bool = False,
    ) -> None:
        self.tokenizer, self.scheme, self.structure = tokenizer, scheme, structure
        self.join_cells, self.segments = join_cells, segments
        self.padding_id = padding_id(tokenizer)

    def __call__(self, document: Document) -> EncodedDocument:
        """Encode one document."""
        if self.join_cells:
            document, _ = join_cells(document)
        tokens = tokenize_words(self.tokenizer, document.texts)
        pages = [page.level() for page in document.pages]
        node_features, neighbor_table, edge_features = _encode_graph(pages, segments=self.segments)
        return EncodedDocument(
            document.id,
            tokens.ids,
            tokens.word_ids,
            split_word_boxes(stack_page_boxes(pages), tokens.word_ids, tokens.lengths),
            np.searchsorted(tokens.word_ids, np.arange(document.num_words)),
            node_features,
            neighbor_table,
            edge_features,
            None if self.scheme is None else self.scheme.document_tags(document),
            None if self.scheme is None else self.scheme.unknown_types(document),
            None if self.structure is None else encode_structure(document, self.structure),
        )


def encode_structure(document: Document, scheme: "StructureScheme") -> EncodedStructure:
    """Encode the captions and links of a document's entities."""
    keys = np.full(document.num_words, -1, np.int64)
    if scheme.has_keys:
        for entity in document.entities:
            keys[list(entity.words)] = 0
            keys[list(entity.key_words)] = 1
    candidates = link_candidates(document, scheme.link_labels, scheme.linked_labels)
    return EncodedStructure(keys, **candidates.pairs, owner=candidates.targets(document.links))


def stack_page_boxes(pages: Iterable[Page]) -> NDArray[np.float64]:
    """Return the boxes of all words in page units, with pages stacked vertically: [N, 4]."""
    boxes = []
    top = 0.0
    for page in pages:
        scale = PAGE_UNITS / max(page.width, page.height)
        boxes.append(page.boxes * scale + (0.0, top, 0.0, top))
        top += page.height * scale + PAGE_GAP
    return np.concatenate(boxes or [np.empty((0, 4))])


def split_word_boxes(
    boxes: NDArray[np.float64], word_ids: NDArray[np.int64], lengths: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Divide each word box among its tokens from left to right, in proportion to their characters: [P, 4]."""
    word_lengths = np.bincount(word_ids, lengths, minlength=len(boxes))  # [W] characters
    end = np.cumsum(lengths)  # [P] within the document
    end = end - (np.cumsum(word_lengths) - word_lengths)[word_ids]  # [P] within the word
    x0, y0, x1, y1 = boxes[word_ids].T
    step = (x1 - x0) / word_lengths[word_ids]
    return np.stack([x0 + step * (end - lengths), y0, x0 + step * end, y1], axis=1, dtype=np.float32)


def _encode_graph(
    pages: Iterable[Page], *, segments: bool
) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]:
    """Build the graph of each page; neighbors are word indices in the document."""
    nodes = [np.empty((0, SEGMENT_NODE_FEATURES if segments else NODE_FEATURES), np.float32)]
    tables = [np.empty((0, MAX_NEIGHBORS), np.int64)]
    edges = [np.empty((0, MAX_NEIGHBORS, SEGMENT_EDGE_FEATURES if segments else EDGE_FEATURES), np.float32)]
    start = 0
    for page in pages:
        graph = page_graph(page, segments=segments)
        table, features = neighbors(graph)
        nodes.append(graph.nodes)
        tables.append(np.where(table < 0, -1, table + start))
        edges.append(features)
        start += len(page.texts)
    return np.concatenate(nodes), np.concatenate(tables), np.concatenate(edges)
