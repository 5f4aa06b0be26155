"""Replica of one model on Ray Serve: documents arrive one by one and are scored in batches."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from ray import serve

from formnet.document import Document, Entity
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.runtime import limit_onednn_caches
from formnet.scale.service.errors import ApiError, internal_error

#: Maximum words per batch; larger batches are not faster on a CPU and increase latency.
MAX_BATCH_WORDS = 1024
#: Maximum batching delay in seconds.
BATCH_WAIT_SECONDS = 0.005
#: Maximum concurrent documents per replica: those being scored and those of the next batch.
MAX_ONGOING_REQUESTS = 16

Result = list[Entity] | ApiError


class ModelInput(NamedTuple):
    """A document and the options of its request."""

    document: Document
    options: ExtractionOptions = ExtractionOptions()


def batch_size(inputs: Sequence[ModelInput]) -> int:
    """Count the words of a batch; a document counts at most `MAX_BATCH_WORDS`, so that any fits into a batch."""
    return sum(min(max(item.document.num_words, 1), MAX_BATCH_WORDS) for item in inputs)


class ModelReplica:
    """An extractor with a batching queue."""

    def __init__(self, model: str, threads: int, warm_up: bool) -> None:
        limit_onednn_caches()
        import torch

        from formnet.extraction.extractor import Extractor

        torch.set_num_threads(threads)
        # A single thread, because every thread that scores has caches and an allocator arena of its own.
        self.thread = ThreadPoolExecutor(1, "model")
        self.extractor = Extractor.from_pretrained(model)
        if warm_up:
            self.thread.submit(self.extractor.warm_up).result()

    def labels(self) -> list[str]:
        """Return the labels of all heads, sorted."""
        return sorted({label for scheme in self.extractor.heads.values() for label in scheme.entity_types})

    async def entities(self, item: ModelInput) -> Result:
        """Extract the entities of one document."""
        result: Result = await self._batch(item)
        return result

    @serve.batch(max_batch_size=MAX_BATCH_WORDS, batch_wait_timeout_s=BATCH_WAIT_SECONDS, batch_size_fn=batch_size)
    async def _batch(self, inputs: list[ModelInput]) -> list[Result]:
        return await asyncio.get_running_loop().run_in_executor(self.thread, self._extract, inputs)

    def _extract(self, inputs: list[ModelInput]) -> list[Result]:
        """Extract from a batch; if that fails, from each document separately, so that only the cause fails."""
        results: list[Result] = [[] for _ in inputs]
        documents, options = zip(*inputs, strict=True)
        try:
            for i, entities in self.extractor.iter_entities(documents, options=options):
                results[i] = entities
        except Exception as error:
            if len(inputs) == 1:
                return [internal_error(error)]
            return [result for item in inputs for result in self._extract([item])]
        return results
