"""Which documents meet in which batch, for all epochs at once, and how each looks when its turn comes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset, Sampler

from formnet.document import Document
from formnet.encoding import EncodedDocument, Encoder, buckets, collate
from formnet.encoding.collate import IGNORED_TAG
from formnet.encoding.tokenizer import mask_id
from formnet.training.augmentation.blocks import Letterhead, put_around, put_between
from formnet.training.augmentation.words import augment
from formnet.training.config import Augmentation, Optimization

TensorBatch = dict[str, Tensor]


class Turn(NamedTuple):
    """A document's turn."""

    epoch: int
    document: int
    filler: bool = False  # only there because a process's share of a batch would be empty


class Plan(Sampler[list[Turn]]):
    """Batches of like length for every epoch, each process's share of them.

    The whole run is one list, so that going on after a kill is skipping its beginning.
    """

    def __init__(
        self, lengths: Sequence[int], settings: Optimization, epochs: int, seed: int, rank: int = 0, world: int = 1
    ) -> None:
        self.batches: list[list[Turn]] = []
        documents = settings.batch_documents and settings.batch_documents * world
        for epoch in range(epochs):
            for batch in buckets(lengths, settings.max_batch_tokens, [seed, epoch], documents, world):
                share = [Turn(epoch, i) for i in batch[rank::world]]
                self.batches.append(share or [Turn(epoch, batch[0], filler=True)])

    def __iter__(self) -> Iterator[list[Turn]]:
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)


class Example(NamedTuple):
    """A document as the network sees it, and the head that it is labeled for."""

    encoded: EncodedDocument
    head: int


class Mixture(NamedTuple):
    """Documents that get others' lines around them, those lines, and what the others' head finds in the documents."""

    documents: Sequence[Document]
    letterheads: Sequence[Letterhead]
    alike: Mapping[str, str]  # label → theirs

    def draw(self, generator: np.random.Generator) -> Letterhead:
        """Give any of the letterheads."""
        return self.letterheads[int(generator.integers(len(self.letterheads)))]


class Documents(Dataset[Example]):
    """Documents of all heads, made worse anew each epoch if asked."""

    def __init__(
        self,
        documents: Sequence[Sequence[Document]],
        encoders: Sequence[Encoder],
        settings: Augmentation,
        seed: int,
        around: Mapping[int, Mixture] | None = None,
        between: Mapping[int, Mixture] | None = None,
    ) -> None:
        """Take each head's documents and encoder, and mixtures: by the documents' head, and by the letterheads'."""
        self.documents = [(document, head) for head, part in enumerate(documents) for document in part]
        self.encoders, self.settings, self.seed = encoders, settings, seed
        self.around, self.between = around or {}, between or {}
        self.encoded = [encoders[head](document) for document, head in self.documents]
        self.mask_id = mask_id(encoders[0].tokenizer) if settings.unknown else None

    def __len__(self) -> int:
        return len(self.documents)

    def __getitem__(self, turn: Turn) -> Example:
        epoch, number, filler = turn
        (document, head), encoded = self.documents[number], self.encoded[number]
        if self.settings.any:
            generator = np.random.default_rng([self.seed, epoch, number])
            if head in self.around and generator.random() < self.settings.letterhead:
                document = put_around(document, self.around[head].draw(generator), generator)
            if self.settings.body and head in self.between and generator.random() < self.settings.body:
                mixture = self.between[head]
                theirs = mixture.documents[int(generator.integers(len(mixture.documents)))]
                document = put_between(theirs, mixture.draw(generator), mixture.alike, generator)
            encoded = self.encoders[head](augment(document, self.settings, generator))
            if self.mask_id is not None:
                hidden = generator.random(len(encoded)) < self.settings.unknown
                encoded = replace(encoded, token_ids=np.where(hidden, self.mask_id, encoded.token_ids))
        if filler:  # asks for no tag, and so teaches nothing
            assert encoded.tags is not None
            encoded = replace(encoded, tags=np.full_like(encoded.tags, IGNORED_TAG))
        return Example(encoded, head)


def put_together(examples: Sequence[Example], padding_id: int) -> TensorBatch:
    """Make a batch of tensors only."""
    batch = collate([example.encoded for example in examples], padding_id)
    del batch["ids"]
    return {**batch, "head": torch.tensor([example.head for example in examples])}
