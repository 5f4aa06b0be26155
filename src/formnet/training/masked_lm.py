"""Masked language modeling: streamed pages and token masking (Devlin et al., 2018)."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count, islice
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch.utils.data import IterableDataset

from formnet.document import Document
from formnet.encoding import EncodedDocument, Encoder, buckets, collate
from formnet.encoding.collate import IGNORED_TAG
from formnet.encoding.tokenizer import cut, mask_id
from formnet.errors import SettingsError
from formnet.io.readers import count_documents, read
from formnet.training.sampling import TensorBatch

#: Of what is to be guessed, so much is hidden and so much replaced by something else; the rest stays as it is.
HIDDEN, REPLACED = 0.8, 0.1


class Masker:
    """Hides pieces, whole words at a time if asked."""

    def __init__(self, tokenizer: Tokenizer, share: float = 0.15, *, whole_words: bool = True) -> None:
        self.mask_id, self.share, self.whole_words = mask_id(tokenizer), share, whole_words
        self.vocabulary = tokenizer.get_vocab_size()

    def __call__(
        self, document: EncodedDocument, generator: np.random.Generator
    ) -> tuple[EncodedDocument, NDArray[np.int64]]:
        """Give the document with pieces hidden, and what is to be guessed: [P], −100 where nothing is."""
        unit = document.word_ids if self.whole_words else np.arange(len(document))
        count = document.num_words if self.whole_words else len(document)
        asked = generator.random(count) < self.share
        if count and not asked.any():
            asked[generator.integers(count)] = True
        fate = generator.random(count)
        hidden = (asked & (fate < HIDDEN))[unit]
        replaced = (asked & (fate >= HIDDEN) & (fate < HIDDEN + REPLACED))[unit]
        anything = generator.integers(self.vocabulary, size=len(document))
        ids = np.where(hidden, self.mask_id, np.where(replaced, anything, document.token_ids))
        labels = np.where(asked[unit], document.token_ids, IGNORED_TAG)
        return replace(document, token_ids=ids), labels


class PageStream(IterableDataset[TensorBatch]):
    """Endless batches of masked pages of like length.

    Each of n processes takes every n-th page. All that is random follows from the seed and the place in the
    stream, so that a run goes on where it was cut off: `passed` batches are gone over, read but not encoded.
    """

    def __init__(
        self,
        files: Sequence[Path],
        encoder: Encoder,
        masker: Masker,
        max_batch_tokens: int,
        batch_documents: int | None = None,
        *,
        seed: int = 0,
        shuffle: int = 1024,
        held_out: int = 0,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        self.files, self.encoder, self.masker = tuple(files), encoder, masker
        self.max_batch_tokens, self.batch_documents = max_batch_tokens, batch_documents
        self.seed, self.shuffle, self.held_out, self.rank, self.world = seed, shuffle, held_out, rank, world
        self.passed = 0

    def __iter__(self) -> Iterator[TensorBatch]:
        number = 0
        for chunk_number, chunk in enumerate(self._chunks()):
            lengths = [len(cut(self.encoder.tokenizer, page.texts).ids) for page in chunk]
            seed = [self.seed, self.rank, chunk_number]
            for batch in buckets(lengths, self.max_batch_tokens, seed, self.batch_documents):
                if number >= self.passed:
                    generator = np.random.default_rng([*seed, number])
                    yield masked_batch([self.encoder(chunk[i]) for i in batch], self.masker, generator, self.encoder)
                number += 1

    def held_out_pages(self) -> list[Document]:
        """Give the pages that are not trained on."""
        return [page for file in self.files for page in islice(_pages(file), self.held_out)]

    @cached_property
    def _counts(self) -> NDArray[np.float64]:
        """How many documents each file has: [files]."""
        return np.array([count_documents(file) for file in self.files], np.float64)

    def _chunks(self) -> Iterator[list[Document]]:
        """Give so many pages at a time, mixed from all files."""
        pages = (page for round_ in count() for page in self._some(round_))
        while chunk := list(islice(pages, self.shuffle)):
            yield chunk

    def _some(self, number: int) -> Iterator[Document]:
        """Go through all files once; there must be something in them, or the next round would be as empty."""
        found = False
        for page in self._round(number):
            found = True
            yield page
        if not found:
            files = ", ".join(map(str, self.files))
            raise SettingsError(
                f"{files}: no pages with words are left to train on, beside {self.held_out:,} held out of each file, "
                f"for process {self.rank + 1} of {self.world}."
            )

    def _round(self, number: int) -> Iterator[Document]:
        """Go through all files once, taking from each as often as it has documents, so that all end together."""
        generator = np.random.default_rng([self.seed, number])
        readers = [islice(_pages(file), self.held_out, None) for file in self.files]
        left = self._counts.copy()
        place = 0
        while left.any():
            which = int(generator.choice(len(readers), p=left / left.sum()))
            page = next(readers[which], None)
            # A document may have more pages than one: what is left is a guess, and never nothing before the end.
            left[which] = 0 if page is None else max(left[which] - 1, 1)
            if page is None:
                continue
            if place % self.world == self.rank:
                yield page
            place += 1


def masked_batch(
    pages: Sequence[EncodedDocument], masker: Masker, generator: np.random.Generator, encoder: Encoder
) -> TensorBatch:
    """Hide pieces and put pages together; labels are [B, P]."""
    masked = [masker(page, generator) for page in pages]
    batch = collate([page for page, _ in masked], encoder.padding_id)
    del batch["ids"], batch["first_token"]
    labels = torch.full_like(batch["input_ids"], IGNORED_TAG)
    for row, (_, asked) in zip(labels, masked, strict=True):
        row[: len(asked)] = torch.from_numpy(asked)
    return {**batch, "labels": labels}


def _pages(file: Path) -> Iterator[Document]:
    """Give a file's pages one by one, also where a document has several; those without words are passed over."""
    for document in read(file):
        for number, page in enumerate(document.pages):
            if page.texts:
                yield replace(document, id=f"{document.id}/{number + 1}", pages=(page,), entities=(), links=())
