"""Endless stream of masked pages for pre-training. Resuming skips earlier pages without parsing them."""

import json
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import IterableDataset

from formnet.document import Document
from formnet.encoding import Encoder, buckets
from formnet.encoding.tokenizer import tokenize_words
from formnet.errors import SettingsError
from formnet.io.readers import count_documents
from formnet.training.augmentation.words import augment
from formnet.training.config import Augmentation
from formnet.training.hidden_positions import collate_positions, hide_positions
from formnet.training.masked_lm import Masker, masked_batch
from formnet.training.page_split import read_numbered_pages
from formnet.training.sampling import TensorBatch

#: Number of chunks whose positions are kept: batches are fetched ahead of the step that is saved.
_KEPT_POSITIONS = 16


@dataclass(frozen=True)
class StreamPosition:
    """Where a chunk of pages starts."""

    batch: int = 0  # number of its first batch
    chunk: int = 0
    epoch: int = 0
    page: int = 0  # within the epoch, over all processes
    read: tuple[tuple[int, int], ...] = ()  # per file: documents read, and pages of the next one
    remaining: tuple[float, ...] = ()  # per file: estimate of the documents left
    random_state: dict[str, Any] | None = None  # of the choice of files; None at the start of an epoch


class PageSequence:
    """The pages of all files, epoch after epoch, of which each of n processes gets every n-th.

    Files are sampled by their remaining documents, so that all end together. Pages in `left_out`, given by file name
    and id, are skipped.
    """

    def __init__(
        self,
        files: Sequence[Path],
        document_counts: NDArray[np.float64],
        seed: int,
        left_out: Collection[tuple[str, str]],
        rank: int = 0,
        num_processes: int = 1,
        start: StreamPosition | None = None,
    ) -> None:
        self.files, self.document_counts, self.seed, self.left_out = files, document_counts, seed, left_out
        self.rank, self.num_processes = rank, num_processes
        self._start_epoch(start or StreamPosition())

    def _start_epoch(self, start: StreamPosition) -> None:
        """Start an epoch, or continue it at a position."""
        self.epoch, self.page = start.epoch, start.page
        self.read = list(start.read) or [(0, 0)] * len(self.files)
        self.remaining = np.array(start.remaining) if start.remaining else self.document_counts.copy()
        self.generator = np.random.default_rng([self.seed, self.epoch])
        if start.random_state is not None:
            self.generator.bit_generator.state = start.random_state
        self.readers = [
            read_numbered_pages(file, *position) for file, position in zip(self.files, self.read, strict=True)
        ]

    def position(self, batch: int, chunk: int) -> StreamPosition:
        """Describe where the next page is, as the start of a chunk."""
        state = dict(self.generator.bit_generator.state)
        return StreamPosition(
            batch, chunk, self.epoch, self.page, tuple(self.read), tuple(self.remaining.tolist()), state
        )

    def __iter__(self) -> Iterator[Document]:
        return self

    def __next__(self) -> Document:
        while True:
            if not self.remaining.any():
                self._start_next_epoch()
            shares = self.remaining / self.remaining.sum()
            index = int(self.generator.choice(len(self.files), p=shares))
            page = self._next_page(index)
            # An estimate, since a document may have several pages: it must stay positive until the file ends.
            self.remaining[index] = 0 if page is None else max(self.remaining[index] - 1, 1)
            if page is not None:
                self.page += 1
                if (self.page - 1) % self.num_processes == self.rank:
                    return page

    def _next_page(self, index: int) -> Document | None:
        """Return the next page of a file to train on; None at its end."""
        for document_number, page_number, page in self.readers[index]:
            if (self.files[index].name, page.id) not in self.left_out:
                self.read[index] = (document_number, page_number + 1)
                return page
        return None

    def _start_next_epoch(self) -> None:
        """Start the next epoch; raise if this process got no page in the last one, since that would go on forever."""
        if self.page <= self.rank:
            files = ", ".join(map(str, self.files))
            raise SettingsError(
                f"{files}: no pages with words are left to train on after leaving out {len(self.left_out):,}, for "
                f"process {self.rank + 1} of {self.num_processes}. Add pages, or reduce held_out_pages or exclude."
            )
        self._start_epoch(StreamPosition(epoch=self.epoch + 1))


class PageStream(IterableDataset[TensorBatch]):
    """Endless stream of batches of masked pages of similar length, from a `PageSequence`.

    Randomness depends only on the seed and the position in the stream, so that a run can be resumed: the stream starts
    at the last known position before batch `skip_batches`, and does not return the batches before it. `raster` and
    `shuffled` are the shares of pages whose words are read in these orders, and `hidden_positions` that of words whose
    position is hidden.
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
        hidden_positions: float = 0.0,
    ) -> None:
        self.files, self.encoder, self.masker = tuple(files), encoder, masker
        self.max_batch_tokens, self.max_batch_documents = max_batch_tokens, max_batch_documents
        self.seed, self.shuffle_buffer, self.left_out = seed, shuffle_buffer, frozenset(left_out)
        self.rank, self.num_processes = rank, num_processes
        self.augmentation = Augmentation(raster=raster, shuffled=shuffled)
        self.hidden_positions = hidden_positions
        self.skip_batches = 0
        self.positions: deque[StreamPosition] = deque(maxlen=_KEPT_POSITIONS)

    def __iter__(self) -> Iterator[TensorBatch]:
        passed = [position for position in self.positions if position.batch <= self.skip_batches]
        start = passed[-1] if passed else StreamPosition()
        sequence, number, chunk_number = self.pages(start), start.batch, start.chunk
        self.positions.clear()
        while True:
            self.positions.append(sequence.position(number, chunk_number))
            chunk = list(islice(sequence, self.shuffle_buffer))
            lengths = [len(tokenize_words(self.encoder.tokenizer, page.texts).ids) for page in chunk]
            seed = [self.seed, self.rank, chunk_number]
            for batch in buckets(lengths, self.max_batch_tokens, seed, self.max_batch_documents):
                if number >= self.skip_batches:
                    yield self._masked_batch([chunk[i] for i in batch], np.random.default_rng([*seed, number]))
                number += 1
            chunk_number += 1

    def pages(self, start: StreamPosition | None = None) -> PageSequence:
        """Return the pages of this process from a position."""
        counts, left_out = self._document_counts, self.left_out
        return PageSequence(self.files, counts, self.seed, left_out, self.rank, self.num_processes, start)

    def _masked_batch(self, pages: Sequence[Document], generator: np.random.Generator) -> TensorBatch:
        if self.augmentation.any:
            pages = [augment(page, self.augmentation, generator) for page in pages]
        if not self.hidden_positions:
            return masked_batch([self.encoder(page) for page in pages], self.masker, generator, self.encoder)
        hidden = [hide_positions(page, self.hidden_positions, generator) for page in pages]
        batch = masked_batch([self.encoder(page) for page, _ in hidden], self.masker, generator, self.encoder)
        return {**batch, "positions": collate_positions([own for _, own in hidden], batch["word_ids"])}

    @cached_property
    def _document_counts(self) -> NDArray[np.float64]:
        """Number of documents per file: [files]."""
        return np.array([count_documents(file) for file in self.files], np.float64)

    def save_positions(self, checkpoint: Path) -> None:
        """Write the positions of the last chunks to a checkpoint."""
        data = json.dumps([asdict(position) for position in self.positions])
        self._positions_file(checkpoint).write_text(data, encoding="utf-8")

    def resume(self, checkpoint: Path, skip_batches: int) -> None:
        """Continue after this number of batches, from the positions in a checkpoint, if it has any."""
        self.skip_batches = skip_batches
        file = self._positions_file(checkpoint)
        if file.is_file():
            for data in json.loads(file.read_text(encoding="utf-8")):
                read = tuple((documents, pages) for documents, pages in data["read"])
                self.positions.append(StreamPosition(**{**data, "read": read}))

    def _positions_file(self, checkpoint: Path) -> Path:
        """Return the file of this process."""
        return checkpoint / f"stream-{self.rank}.json"
