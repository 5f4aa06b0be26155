"""Training examples and their batches: a sampler over all epochs, and a dataset that augments documents per epoch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from formnet.document import Document
from formnet.encoding import EncodedDocument, Encoder, buckets, collate
from formnet.encoding.collate import IGNORE_INDEX
from formnet.encoding.tokenizer import mask_id
from formnet.training.augmentation.header_footer import HeaderFooter, add_header_footer, swap_body
from formnet.training.augmentation.words import augment
from formnet.training.config import Augmentation, Optimization

TensorBatch = dict[str, Tensor]


class SampleIndex(NamedTuple):
    """Index of a document in an epoch."""

    epoch: int
    document: int
    filler: bool = False  # fills a process's empty share of a batch and has no loss


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


class HeaderFooterPool(NamedTuple):
    """Documents of one head, and header and footer lines of another head to combine them with."""

    documents: Sequence[Document]
    header_footers: Sequence[HeaderFooter]
    label_map: Mapping[str, str]  # label of the header's head: corresponding label of the documents' head

    def sample_document(self, generator: np.random.Generator) -> Document:
        """Return a random document."""
        return self.documents[int(generator.integers(len(self.documents)))]

    def sample_header_footer(self, generator: np.random.Generator) -> HeaderFooter:
        """Return random header and footer lines."""
        return self.header_footers[int(generator.integers(len(self.header_footers)))]


class DocumentDataset(Dataset[Example]):
    """Documents of all heads, augmented differently in each epoch."""

    def __init__(
        self,
        documents: Sequence[Sequence[Document]],
        encoders: Sequence[Encoder],
        settings: Augmentation,
        seed: int,
        header_footer_pools: Mapping[int, HeaderFooterPool] | None = None,
        body_swap_pools: Mapping[int, HeaderFooterPool] | None = None,
    ) -> None:
        """Take documents and encoders per head; pools by the head of their documents, and of their header lines."""
        self.documents = [(document, head) for head, own in enumerate(documents) for document in own]
        self.encoders, self.settings, self.seed = encoders, settings, seed
        self.header_footer_pools, self.body_swap_pools = header_footer_pools or {}, body_swap_pools or {}
        self.encoded = [encoders[head](document) for document, head in self.documents]
        self.mask_id = mask_id(encoders[0].tokenizer) if settings.token_mask else None

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, index: SampleIndex) -> Example:
        (document, head), encoded = self.documents[index.document], self.encoded[index.document]
        if self.settings.any:
            generator = np.random.default_rng([self.seed, index.epoch, index.document])
            if head in self.header_footer_pools and generator.random() < self.settings.header_footer:
                pool = self.header_footer_pools[head]
                document = add_header_footer(document, pool.sample_header_footer(generator), generator)
            if self.settings.body_swap and head in self.body_swap_pools:
                document = self._swap_body(document, self.body_swap_pools[head], generator)
            encoded = self.encoders[head](augment(document, self.settings, generator))
            if self.mask_id is not None:
                masked = generator.random(len(encoded)) < self.settings.token_mask
                encoded = replace(encoded, token_ids=np.where(masked, self.mask_id, encoded.token_ids))
        if index.filler:
            assert encoded.tags is not None
            encoded = replace(encoded, tags=np.full_like(encoded.tags, IGNORE_INDEX), structure=None)
        return Example(encoded, head)

    def _swap_body(self, document: Document, pool: HeaderFooterPool, generator: np.random.Generator) -> Document:
        if generator.random() >= self.settings.body_swap:
            return document
        body = pool.sample_document(generator)
        return swap_body(body, pool.sample_header_footer(generator), pool.label_map, generator)


def collate_examples(examples: Sequence[Example], padding_id: int) -> TensorBatch:
    """Collate examples into a batch that holds only tensors."""
    batch = collate([example.encoded for example in examples], padding_id)
    del batch["ids"]
    return {**batch, "head": torch.tensor([example.head for example in examples])}
