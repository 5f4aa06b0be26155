"""Collate encoded documents into padded batches and back, and group documents of similar length."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from formnet.encoding.encoder import EncodedDocument, EncodedStructure
from formnet.errors import DocumentError

#: Padding value of token, word and neighbor indices, and of labels.
PADDING_INDEX = -1
IGNORE_INDEX = -100

Batch = dict[str, Any]  # tensors by name, and the document IDs


def collate(documents: Sequence[EncodedDocument], padding_id: int, multiple: int = 1) -> Batch:
    """Pad documents to the same number of tokens, rounded up to a multiple of `multiple`.

    Shapes for B documents, P tokens and W words: input_ids [B, P], attention_mask [B, P], word_ids [B, P],
    token_boxes [B, P, 4], first_token [B, W], node_features [B, W, 10 or 20], neighbors [B, W, 8],
    edge_features [B, W, 8, 11 or 12], labels [B, W], and unknown_types [B, K] if a document lacks annotations of a
    type.
    """
    if not documents:
        raise DocumentError("a batch needs at least one document.")
    num_tokens = _round_up(max(len(d) for d in documents), multiple)
    num_words = max(d.num_words for d in documents)
    batch: Batch = {
        "ids": [d.id for d in documents],
        "input_ids": _pad([d.token_ids for d in documents], num_tokens, padding_id),
        "attention_mask": _pad([np.ones(len(d), np.int64) for d in documents], num_tokens, 0),
        "word_ids": _pad([d.word_ids for d in documents], num_tokens, PADDING_INDEX),
        "token_boxes": _pad([d.token_boxes for d in documents], num_tokens, 0.0),
        "first_token": _pad([d.first_token for d in documents], num_words, PADDING_INDEX),
        "node_features": _pad([d.node_features for d in documents], num_words, 0.0),
        "neighbors": _pad([d.neighbors for d in documents], num_words, PADDING_INDEX),
        "edge_features": _pad([d.edge_features for d in documents], num_words, 0.0),
    }
    tags = [d.tags for d in documents if d.tags is not None]
    if tags:
        if len(tags) < len(documents):
            raise DocumentError("the batch contains both labeled and unlabeled documents.")
        batch["labels"] = _pad(tags, num_words, IGNORE_INDEX)
    unknown = [d.unknown_types for d in documents]
    if any(mask is not None and mask.any() for mask in unknown):
        num_types = max(len(mask) for mask in unknown if mask is not None)
        none = np.zeros(num_types, np.bool_)
        batch["unknown_types"] = _pad([none if mask is None else mask for mask in unknown], num_types, 0)
    structures = [d.structure for d in documents if d.structure is not None]
    if len(structures) == len(documents):
        batch["structure"] = _collate_structures(structures, num_words)
    return batch


def _collate_structures(structures: Sequence[EncodedStructure], num_words: int) -> dict[str, Any]:
    """Pad targets to the same numbers of words W, parts L and owners C; see `StructureTargets`."""
    num_parts = max(len(s.parts) for s in structures)
    num_owners = max(s.owners.shape[1] for s in structures)

    def widen(array: NDArray[Any], filler: float) -> NDArray[Any]:
        padding = [(0, 0), (0, num_owners - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
        return np.pad(array, padding, constant_values=filler)

    # "No owner" comes after the last candidate.
    owner = [np.where(s.owner == s.owners.shape[1], num_owners, s.owner) for s in structures]
    return {
        "keys": _pad([s.keys for s in structures], num_words, IGNORE_INDEX),
        "pairs": {
            "parts": _pad([s.parts for s in structures], num_parts, PADDING_INDEX),
            "owners": _pad([widen(s.owners, PADDING_INDEX) for s in structures], num_parts, PADDING_INDEX),
            "part_labels": _pad([s.part_labels for s in structures], num_parts, PADDING_INDEX),
            "owner_labels": _pad([widen(s.owner_labels, PADDING_INDEX) for s in structures], num_parts, PADDING_INDEX),
            "pair_features": _pad([widen(s.pair_features, 0.0) for s in structures], num_parts, 0.0),
        },
        "owner": _pad(owner, num_parts, IGNORE_INDEX),
    }


def uncollate(batch: Batch) -> list[EncodedDocument]:
    """Split a batch into its documents, without padding."""
    documents = []
    for i, name in enumerate(batch["ids"]):
        num_tokens = int(batch["attention_mask"][i].sum())
        num_words = int((batch["first_token"][i] != PADDING_INDEX).sum())

        def row(key: str, length: int, i: int = i) -> NDArray[Any]:
            array: NDArray[Any] = batch[key][i, :length].numpy()
            return array

        documents.append(
            EncodedDocument(
                name,
                row("input_ids", num_tokens),
                row("word_ids", num_tokens),
                row("token_boxes", num_tokens),
                row("first_token", num_words),
                row("node_features", num_words),
                row("neighbors", num_words),
                row("edge_features", num_words),
                row("labels", num_words) if "labels" in batch else None,
            )
        )
    return documents


def buckets(
    lengths: Sequence[int],
    max_tokens: int,
    seed: int | Sequence[int] | None = None,
    max_documents: int | None = None,
    num_processes: int = 1,
) -> list[list[int]]:
    """Group documents of similar length into batches of at most `max_tokens` tokens per process, padding included.

    A document longer than `max_tokens` forms its own batch. `max_documents` limits the documents per batch.

    With a seed, the grouping and the order of batches are random. Without one, the longest documents come first, so
    that running out of memory happens in the first batch.

    >>> buckets([10, 500, 12, 480, 11], 1000)
    [[1, 3], [2, 4, 0]]
    """
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    generator = None if seed is None else np.random.default_rng(seed)
    if generator is not None and len(lengths):
        # Random scaling by up to 10 % changes the grouping between epochs with little extra padding.
        order = np.argsort(-np.asarray(lengths) * generator.uniform(0.9, 1.1, len(lengths)), kind="stable")
    batches: list[list[int]] = []
    longest = 0
    for index in order.tolist():
        padded_length = max(longest, lengths[index])
        is_full = bool(batches) and len(batches[-1]) == max_documents
        if batches and not is_full and padded_length * -(-(len(batches[-1]) + 1) // num_processes) <= max_tokens:
            batches[-1].append(index)
            longest = padded_length
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
