"""Encoded documents → padded tensors and back, and which documents to put together."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from formnet.encoding.encoder import EncodedDocument
from formnet.errors import DocumentError

#: A padded place holds no piece, no word, no neighbor, and asks for no tag.
NOWHERE = -1
IGNORED_TAG = -100

Batch = dict[str, Any]  # tensors by name, and the documents' ids


def collate(documents: Sequence[EncodedDocument], padding_id: int, multiple: int = 1) -> Batch:
    """Pad documents to one length, a multiple of some number if asked.

    B documents, P pieces, W words: input_ids [B, P], attention_mask [B, P], word_ids [B, P], token_boxes [B, P, 4],
    first_token [B, W], node_features [B, W, 10], neighbors [B, W, 8], edge_features [B, W, 8, 11], labels [B, W].
    """
    if not documents:
        raise DocumentError("a batch needs at least one document.")
    pieces = _round_up(max(len(d) for d in documents), multiple)
    words = max(d.num_words for d in documents)
    batch: Batch = {
        "ids": [d.id for d in documents],
        "input_ids": _pad([d.token_ids for d in documents], pieces, padding_id),
        "attention_mask": _pad([np.ones(len(d), np.int64) for d in documents], pieces, 0),
        "word_ids": _pad([d.word_ids for d in documents], pieces, NOWHERE),
        "token_boxes": _pad([d.token_boxes for d in documents], pieces, 0.0),
        "first_token": _pad([d.first_token for d in documents], words, NOWHERE),
        "node_features": _pad([d.node_features for d in documents], words, 0.0),
        "neighbors": _pad([d.neighbors for d in documents], words, NOWHERE),
        "edge_features": _pad([d.edge_features for d in documents], words, 0.0),
    }
    tags = [d.tags for d in documents if d.tags is not None]
    if tags:
        if len(tags) < len(documents):
            raise DocumentError("some documents of the batch are labeled and some are not.")
        batch["labels"] = _pad(tags, words, IGNORED_TAG)
    return batch


def uncollate(batch: Batch) -> list[EncodedDocument]:
    """Give back the documents of a batch as they were."""
    documents = []
    for i, name in enumerate(batch["ids"]):
        pieces = int(batch["attention_mask"][i].sum())
        words = int((batch["first_token"][i] != NOWHERE).sum())

        def row(key: str, length: int, i: int = i) -> NDArray[Any]:
            array: NDArray[Any] = batch[key][i, :length].numpy()
            return array

        documents.append(
            EncodedDocument(
                name,
                row("input_ids", pieces),
                row("word_ids", pieces),
                row("token_boxes", pieces),
                row("first_token", words),
                row("node_features", words),
                row("neighbors", words),
                row("edge_features", words),
                row("labels", words) if "labels" in batch else None,
            )
        )
    return documents


def buckets(
    lengths: Sequence[int],
    most_pieces: int,
    seed: int | Sequence[int] | None = None,
    most_documents: int | None = None,
    shares: int = 1,
) -> list[list[int]]:
    """Group documents of like length so that a padded batch holds at most so many pieces; one too long goes alone.

    A batch can be limited in documents, too. One that several processes share holds so much for each of them.

    With a seed, which documents meet and the order of batches change with it; without, the longest come first, so that
    what does not fit in memory fails at once.

    >>> buckets([10, 500, 12, 480, 11], 1000)
    [[1, 3], [2, 4, 0]]
    """
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    generator = None if seed is None else np.random.default_rng(seed)
    if generator is not None and len(lengths):
        # Lengths blurred by a tenth: neighbors change from epoch to epoch, padding stays small.
        order = np.argsort(-np.asarray(lengths) * generator.uniform(0.9, 1.1, len(lengths)), kind="stable")
    batches: list[list[int]] = []
    longest = 0
    for index in order.tolist():
        longest_now = max(longest, lengths[index])
        full = bool(batches) and len(batches[-1]) == most_documents
        if batches and not full and longest_now * -(-(len(batches[-1]) + 1) // shares) <= most_pieces:
            batches[-1].append(index)
            longest = longest_now
        else:
            batches.append([index])
            longest = lengths[index]
    if generator is not None:
        generator.shuffle(batches)
    return batches


def _pad(arrays: Sequence[NDArray[Any]], length: int, filler: float) -> Tensor:
    padded = np.full((len(arrays), length, *arrays[0].shape[1:]), filler, arrays[0].dtype)
    for row, array in zip(padded, arrays, strict=True):
        row[: len(array)] = array
    return torch.from_numpy(padded)


def _round_up(number: int, multiple: int) -> int:
    return -(-number // multiple) * multiple
