"""One model behind Serve: documents come one by one and are scored in batches."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from ray import serve

from formnet.document import Document, Entity
from formnet.extraction.runtime import hold_caches
from formnet.scale.service.errors import ApiError, unexpected

#: Words that are scored together; on a processor more are not faster, only later.
BATCH_WORDS = 1024
#: How long a document waits for company, in seconds.
PATIENCE = 0.005
#: Documents at one replica: in the batch being scored and in the next.
ONGOING = 16

Found = list[Entity] | ApiError


def words_in(documents: Sequence[Document]) -> int:
    """Count the words that a batch is charged for; one document is never too much."""
    return sum(min(max(document.num_words, 1), BATCH_WORDS) for document in documents)


class Network:
    """A replica of one model; Serve makes the batches."""

    def __init__(self, model: str, threads: int, warm_up: bool) -> None:
        hold_caches()
        import torch

        from formnet.extraction.extractor import Extractor

        torch.set_num_threads(threads)
        # Always the same thread: each that scores keeps caches and freed memory of its own.
        self.thread = ThreadPoolExecutor(1, "network")
        self.extractor = Extractor.from_pretrained(model)
        if warm_up:
            self.thread.submit(self.extractor.warm_up).result()

    def labels(self) -> list[str]:
        """Name the fields that the model knows."""
        return sorted({label for scheme in self.extractor.heads.values() for label in scheme.entity_types})

    async def entities(self, document: Document) -> Found:
        """Give one document's entities."""
        found: Found = await self._batch(document)
        return found

    @serve.batch(max_batch_size=BATCH_WORDS, batch_wait_timeout_s=PATIENCE, batch_size_fn=words_in)
    async def _batch(self, documents: list[Document]) -> list[Found]:
        return await asyncio.get_running_loop().run_in_executor(self.thread, self._score, documents)

    def _score(self, documents: list[Document]) -> list[Found]:
        """Score a batch; if that fails, each alone, so that a document spoils only its own answer."""
        try:
            return [*self.extractor.entities(documents)]
        except Exception as error:
            if len(documents) == 1:
                return [unexpected(error)]
            return [found for document in documents for found in self._score([document])]
