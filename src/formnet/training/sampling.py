"""Training examples and their batches: a sampler over all epochs, and a dataset that augments documents per epoch."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from formnet.document import Document
from formnet.encoding import EncodedDocument, Encoder, buckets, collate
from formnet.encoding.collate import IGNORE_INDEX
from formnet.encoding.tokenizer import mask_id
from formnet.training.augmentation.words import augment
from formnet.training.config import Augmentation, Distillation, FineTuning, Optimization
from formnet.training.trainer import make_dataloader, process_count, process_rank

TensorBatch = dict[str, Tensor]


class SampleIndex(NamedTuple):
    """Index of a document in an epoch."""

    epoch: int
    document: int
    filler: bool = False  # fills a process's empty share of a batch and has no loss


def make_document_dataloader(
    run: FineTuning | Distillation, dataset: "DocumentDataset | TaughtDataset", padding_id: int
) -> "DataLoader[Any]":
    """Create the data loader of this process, with the batches of all epochs."""
    lengths = [len(document) for document in dataset.encoded]
    sampler = BucketBatchSampler(lengths, run.optimization, run.epochs, run.seed, process_rank(), process_count())
    return make_dataloader(dataset, batch_sampler=sampler, collate_fn=partial(collate_examples, padding_id=padding_id))


class BucketBatchSampler(Sampler[list[SampleIndex]]):
    """One process's share of batches of similar length, for all epochs.

    The batches of all epochs form one list, so that resuming means skipping the first ones.
    """

    def __init__(
        self,
        lengths: Sequence[int],
        settings: Optimization,
        epochs: int,
        seed: int,
        rank: int = 0,
        num_processes: int = 1,
    ) -> None:
        self.batches: list[list[SampleIndex]] = []
        max_documents = settings.max_batch_documents and settings.max_batch_documents * num_processes
        for epoch in range(epochs):
            for batch in buckets(lengths, settings.max_batch_tokens, [seed, epoch], max_documents, num_processes):
                share = [SampleIndex(epoch, i) for i in batch[rank::num_processes]]
                self.batches.append(share or [SampleIndex(epoch, batch[0], filler=True)])

    def __iter__(self) -> Iterator[list[SampleIndex]]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


class Example(NamedTuple):
    """An encoded document, and the index of the head it is labeled for."""

    encoded: EncodedDocument
    head: int


class DocumentDataset(Dataset[Example]):
    """Documents of all heads, augmented differently in each epoch."""

    def __init__(
        self,
        documents: Sequence[Sequence[Document]],
        encoders: Sequence[Encoder],
        settings: Augmentation,
        seed: int,
    ) -> None:
        """Take documents and encoders per head."""
        self.documents = [(document, head) for head, own in enumerate(documents) for document in own]
        self.encoders, self.settings, self.seed = encoders, settings, seed
        self.encoded = [encoders[head](document) for document, head in self.documents]
        self.mask_id = mask_id(encoders[0].tokenizer) if settings.token_mask else None

    def __len__(self) -> int:
        return len(self.encoded)

    def __getitem__(self, index: SampleIndex) -> Example:
        (document, head), encoded = self.documents[index.document], self.encoded[index.document]
        if self.settings.any:
            generator = np.random.default_rng([self.seed, index.epoch, index.document])
            encoded = self.encoders[head](augment(document, self.settings, generator))
            if self.mask_id is not None:
                encoded = mask_tokens(encoded, self.settings.token_mask, self.mask_id, generator)
        return Example(without_labels(encoded) if index.filler else encoded, head)


class TaughtDataset(Dataset[Example]):
    """Encoded documents whose labels are tag probabilities [W, T] of a teacher."""

    def __init__(self, documents: Sequence[EncodedDocument], token_mask: float, mask_id: int, seed: int) -> None:
        self.encoded, self.token_mask, self.mask_id, self.seed = documents, token_mask, mask_id, seed

    def __len__(self) -> int:
        return len(self.encoded)

    def __getitem__(self, index: SampleIndex) -> Example:
        generator = np.random.default_rng([self.seed, index.epoch, index.document])
        encoded = mask_tokens(self.encoded[index.document], self.token_mask, self.mask_id, generator)
        return Example(without_labels(encoded) if index.filler else encoded, 0)


def mask_tokens(
    document: EncodedDocument, probability: float, mask_id: int, generator: np.random.Generator
) -> EncodedDocument:
    """Return a copy in which random tokens are masked."""
    masked = generator.random(len(document)) < probability
    return replace(document, token_ids=np.where(masked, mask_id, document.token_ids))


def without_labels(document: EncodedDocument) -> EncodedDocument:
    """Return a copy that has no loss."""
    assert document.tags is not None
    return replace(document, tags=np.full_like(document.tags, IGNORE_INDEX), structure=None)


def collate_examples(examples: Sequence[Example], padding_id: int) -> TensorBatch:
    """Collate examples into a batch that holds only tensors."""
    batch = collate([example.encoded for example in examples], padding_id)
    del batch["ids"]
    return {**batch, "head": torch.tensor([example.head for example in examples])}
