"""One document as arrays: pieces with places, words with neighbors, and the map between them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.document.tags import TagScheme
from formnet.encoding.graph import EDGE_FEATURES, MAX_NEIGHBOURS, NODE_FEATURES, neighbors, page_graph
from formnet.encoding.tokenizer import cut, padding_id

#: The longer side of every page is this long; the other keeps its proportion.
PAGE_UNITS = 1000.0
#: Pages are stacked along y this far apart.
PAGE_GAP = 100.0


@dataclass(frozen=True, eq=False)
class EncodedDocument:
    """A whole document for the network; P pieces, W words."""

    id: str
    token_ids: NDArray[np.int64]  # [P]
    word_ids: NDArray[np.int64]  # [P] the word a piece is of
    token_boxes: NDArray[np.float32]  # [P, 4] in page units, pages stacked
    first_token: NDArray[np.int64]  # [W] where a word begins
    node_features: NDArray[np.float32]  # [W, 10]
    neighbors: NDArray[np.int64]  # [W, 8] words, −1 where there are fewer
    edge_features: NDArray[np.float32]  # [W, 8, 11]
    tags: NDArray[np.int64] | None = None  # [W]

    def __len__(self) -> int:
        return len(self.token_ids)

    @property
    def num_words(self) -> int:
        """How many words the pieces are of."""
        return len(self.first_token)

    def pieces_of(self, word: int) -> range:
        """Give the pieces of a word."""
        last = word + 1 == self.num_words
        return range(int(self.first_token[word]), len(self) if last else int(self.first_token[word + 1]))


class Encoder:
    """Turns documents into arrays with one tokenizer and, for labeled ones, one tag scheme.

    Nothing is cut off: eleven thousand words give all their pieces.
    """

    def __init__(self, tokenizer: Tokenizer, scheme: TagScheme | None = None) -> None:
        self.tokenizer, self.scheme = tokenizer, scheme
        self.padding_id = padding_id(tokenizer)

    def __call__(self, document: Document) -> EncodedDocument:
        """Encode one document."""
        pieces = cut(self.tokenizer, document.texts)
        nodes, table, edges = _graph(document)
        return EncodedDocument(
            document.id,
            pieces.ids,
            pieces.word,
            share_width(stacked_boxes(document), pieces.word, pieces.length),
            np.searchsorted(pieces.word, np.arange(document.num_words)),
            nodes,
            table,
            edges,
            None if self.scheme is None else self.scheme.document_tags(document),
        )


def stacked_boxes(document: Document) -> NDArray[np.float64]:
    """Give all words' boxes in page units, each page below the one before: [N, 4]."""
    boxes = []
    top = 0.0
    for page in document.pages:
        scale = PAGE_UNITS / max(page.width, page.height)
        boxes.append(page.boxes * scale + (0.0, top, 0.0, top))
        top += page.height * scale + PAGE_GAP
    return np.concatenate(boxes or [np.empty((0, 4))])


def share_width(boxes: NDArray[np.float64], word: NDArray[np.int64], length: NDArray[np.int64]) -> NDArray[np.float32]:
    """Give pieces their share of their word's box by characters, from left to right: [P, 4]."""
    whole = np.bincount(word, length, minlength=len(boxes))  # [W] characters
    end = np.cumsum(length)  # [P] over the document, then within the word
    end = end - (np.cumsum(whole) - whole)[word]
    x0, y0, x1, y1 = boxes[word].T
    step = (x1 - x0) / whole[word]
    return np.stack([x0 + step * (end - length), y0, x0 + step * end, y1], axis=1, dtype=np.float32)


def _graph(document: Document) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.float32]]:
    """Build every page's graph; neighbors are numbered through the document."""
    nodes = [np.empty((0, NODE_FEATURES), np.float32)]
    tables = [np.empty((0, MAX_NEIGHBOURS), np.int64)]
    edges = [np.empty((0, MAX_NEIGHBOURS, EDGE_FEATURES), np.float32)]
    start = 0
    for page in document.pages:
        graph = page_graph(page)
        table, features = neighbors(graph)
        nodes.append(graph.nodes)
        tables.append(np.where(table < 0, -1, table + start))
        edges.append(features)
        start += len(page.texts)
    return np.concatenate(nodes), np.concatenate(tables), np.concatenate(edges)
