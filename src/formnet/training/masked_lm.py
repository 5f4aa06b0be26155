"""Masked language modeling: a stream of unlabeled pages, and token masking (Devlin et al., 2018)."""

from collections.abc import Collection, Iterator, Sequence
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
from formnet.encoding.collate import IGNORE_INDEX
from formnet.encoding.tokenizer import mask_id, tokenize_words
from formnet.errors import SettingsError
from formnet.io.readers import count_documents
from formnet.training.augmentation.words import augment
from formnet.training.config import Augmentation
from formnet.training.page_split import read_pages
from formnet.training.sampling import TensorBatch

#: Shares of the predicted tokens that are masked and replaced by a random token; the others are not changed.
MASKED, REPLACED = 0.8, 0.1


class Masker:
    """Masks random tokens, or all tokens of random words."""

    def __init__(self, tokenizer: Tokenizer, probability: float = 0.15, *, whole_words: bool = True) -> None:
        self.mask_id, self.probability, self.whole_words = mask_id(tokenizer), probability, whole_words
        self.vocab_size = tokenizer.get_vocab_size()

    def __call__(
        self, document: EncodedDocument, generator: np.random.Generator
    ) -> tuple[EncodedDocument, NDArray[np.int64]]:
        """Return the masked document, and the labels [P], which are −100 for tokens that are not predicted."""
        units = document.word_ids if self.whole_words else np.arange(len(document))
        num_units = document.num_words if self.whole_words else len(document)
        predicted = generator.random(num_units) < self.probability
        if num_units and not predicted.any():
            predicted[generator.integers(num_units)] = True
        draw = generator.random(num_units)
        masked = (predicted & (draw < MASKED))[units]
        replaced = (predicted & (draw >= MASKED) & (draw < MASKED + REPLACED))[units]
        random_ids = generator.integers(self.vocab_size, size=len(document))
        ids = np.where(masked, self.mask_id, np.where(replaced, random_ids, document.token_ids))
        labels = np.where(predicted[units], document.token_ids, IGNORE_INDEX)
        return replace(document, token_ids=ids), labels


class PageStream(IterableDataset[TensorBatch]):
    """Endless stream of batches of masked pages of similar length.

    Pages in `left_out`, given by file and id, are skipped. Each of n processes reads every n-th page. Randomness
    depends only on the seed and the position in the stream, so that a run can be resumed: the first `skip_batches`
    batches are read, but neither encoded nor returned. `raster` and `shuffled` are the shares of pages whose words are
    read in these orders.
    """

    def __init__(
        self,
        files: Sequence[Path],
        encoder: Encoder,
        masker: Masker,
        max_batch_tokens: int,
        max_batch_documents: int | None = None,
        *,
        seed: int = 0,
        shuffle_buffer: int = 1024,
        left_out: Collection[tuple[str, str]] = (),
        rank: int = 0,
        num_processes: int = 1,
        raster: float = 0.0,
        shuffled: float = 0.0,
    ) -> None:
        self.files, self.encoder, self.masker = tuple(files), encoder, masker
        self.max_batch_tokens, self.max_batch_documents = max_batch_tokens, max_batch_documents
        self.seed, self.shuffle_buffer, self.left_out = seed, shuffle_buffer, frozenset(left_out)
        self.rank, self.num_processes = rank, num_processes
        self.augmentation = Augmentation(raster=raster, shuffled=shuffled)
        self.skip_batches = 0

    def __iter__(self) -> Iterator[TensorBatch]:
        number = 0
        for chunk_number, chunk in enumerate(self._chunks()):
            lengths = [len(tokenize_words(self.encoder.tokenizer, page.texts).ids) for page in chunk]
            seed = [self.seed, self.rank, chunk_number]
            for batch in buckets(lengths, self.max_batch_tokens, seed, self.max_batch_documents):
                if number >= self.skip_batches:
                    generator = np.random.default_rng([*seed, number])
                    pages = [chunk[i] for i in batch]
                    if self.augmentation.any:
                        pages = [augment(page, self.augmentation, generator) for page in pages]
                    yield masked_batch([self.encoder(page) for page in pages], self.masker, generator, self.encoder)
                number += 1

    @cached_property
    def _document_counts(self) -> NDArray[np.float64]:
        """Number of documents per file: [files]."""
        return np.array([count_documents(file) for file in self.files], np.float64)

    def _chunks(self) -> Iterator[list[Document]]:
        """Yield lists of `shuffle_buffer` pages, mixed from all files."""
        pages = (page for epoch in count() for page in self._checked_epoch(epoch))
        while chunk := list(islice(pages, self.shuffle_buffer)):
            yield chunk

    def _checked_epoch(self, epoch: int) -> Iterator[Document]:
        """Yield the pages of an epoch; raise if there are none, since the stream would never yield a batch."""
        is_empty = True
        for page in self._epoch(epoch):
            is_empty = False
            yield page
        if is_empty:
            files = ", ".join(map(str, self.files))
            raise SettingsError(
                f"{files}: no pages with words are left to train on after leaving out {len(self.left_out):,}, for "
                f"process {self.rank + 1} of {self.num_processes}. Add pages, or reduce held_out_pages or exclude."
            )

    def _epoch(self, epoch: int) -> Iterator[Document]:
        """Yield the pages of all files once, sampling files by their remaining documents so that all end together."""
        generator = np.random.default_rng([self.seed, epoch])
        readers = [self._training_pages(file) for file in self.files]
        remaining = self._document_counts.copy()
        position = 0
        while remaining.any():
            index = int(generator.choice(len(readers), p=remaining / remaining.sum()))
            page = next(readers[index], None)
            # An estimate, since a document may have several pages: it must stay positive until the file ends.
            remaining[index] = 0 if page is None else max(remaining[index] - 1, 1)
            if page is None:
                continue
            if position % self.num_processes == self.rank:
                yield page
            position += 1

    def _training_pages(self, file: Path) -> Iterator[Document]:
        return (page for page in read_pages(file) if (str(file), page.id) not in self.left_out)


def masked_batch(
    pages: Sequence[EncodedDocument], masker: Masker, generator: np.random.Generator, encoder: Encoder
) -> TensorBatch:
    """Mask and collate pages; labels are [B, P]."""
    masked = [masker(page, generator) for page in pages]
    batch = collate([page for page, _ in masked], encoder.padding_id)
    del batch["ids"], batch["first_token"]
    labels = torch.full_like(batch["input_ids"], IGNORE_INDEX)
    for row, (_, page_labels) in zip(labels, masked, strict=True):
        row[: len(page_labels)] = torch.from_numpy(page_labels)
    return {**batch, "labels": labels}
