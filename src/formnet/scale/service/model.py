"""Replica of one model on Ray Serve: documents arrive one by one and are scored in batches, short ones first."""

import asyncio
import faulthandler
import os
from concurrent.futures import ThreadPoolExecutor
from heapq import heappop, heappush
from itertools import count
from typing import NamedTuple

from formnet.document import Document
from formnet.errors import LimitError
from formnet.extraction.annotations import Annotations
from formnet.extraction.options import ExtractionOptions
from formnet.extraction.references import ReferenceList
from formnet.extraction.runtime import limit_onednn_caches
from formnet.extraction.schema import Schema
from formnet.scale.service.errors import ApiError, internal_error, to_api_error

#: Maximum tokens of a short document, and of a batch of them. Longer ones are scored by a replica of their own.
MAX_BATCH_TOKENS = 1024
#: Maximum batching delay in seconds.
BATCH_WAIT_SECONDS = 0.005
#: Maximum concurrent documents per replica: those being scored and those of the next batches.
MAX_ONGOING_REQUESTS = 16
#: Seconds by which each token delays a document in the queue, so that short documents rarely wait for others.
_SECONDS_PER_TOKEN = 0.05
#: Added to the priority of replicas for long documents, which use what other processes leave of the processor.
_NICENESS = 10


class ModelDescription(NamedTuple):
    """What the ingress needs to know about a model."""

    labels: list[str]
    schema: Schema


class ModelInput(NamedTuple):
    """A document and the options of its request."""

    document: Document
    options: ExtractionOptions = ExtractionOptions()


class ModelSettings(NamedTuple):
    """Settings of a replica."""

    model: str
    threads: int
    warm_up: bool
    max_tokens: int
    timeout: float  # seconds per batch
    is_long: bool  # whether it scores the documents that are too long for other replicas
    references: tuple[ReferenceList, ...] = ()  # of all models


class TooLong(NamedTuple):
    """The answer to a document that a replica for long documents has to score."""

    tokens: int


Result = Annotations | ApiError | TooLong


class _Waiting(NamedTuple):
    """A document in the queue. It is sorted by the time at which it is due."""

    due: float
    number: int
    tokens: int
    item: ModelInput
    result: "asyncio.Future[Result]"


class ModelReplica:
    """An extractor with a batching queue."""

    def __init__(self, settings: ModelSettings) -> None:
        self.settings = settings
        if settings.is_long:
            os.nice(_NICENESS)
        limit_onednn_caches()
        import torch

        from formnet.extraction.auto import load_extractor
        from formnet.extraction.extractor import WARM_UP_BATCHES

        torch.set_num_threads(settings.threads)
        # A single thread, because every thread that scores has caches and an allocator arena of its own.
        self.thread = ThreadPoolExecutor(1, "model")
        self.extractor = load_extractor(settings.model, max_tokens=settings.max_tokens)
        schema = self.extractor.schema
        own_references = [reference for reference in settings.references if reference.path in schema.text_paths]
        self.extractor.schema = schema.with_references(own_references)
        if settings.warm_up:
            batches = [batch for batch in WARM_UP_BATCHES if (sum(batch) > MAX_BATCH_TOKENS) == settings.is_long]
            self.thread.submit(self.extractor.warm_up, batches).result()
        self.queue: list[_Waiting] = []
        self.numbers = count()
        self.batching: asyncio.Task[None] | None = None

    def describe(self) -> "ModelDescription":
        """Return the labels of all heads, sorted, and the schema."""
        return ModelDescription(sorted(self.extractor.labels), self.extractor.schema)

    async def annotate(self, item: ModelInput) -> Result:
        """Extract the entities of one document."""
        try:
            tokens = await asyncio.to_thread(self.extractor.count_tokens, item.document)
        except LimitError as error:
            return to_api_error(error)
        if tokens > MAX_BATCH_TOKENS and not self.settings.is_long:
            return TooLong(tokens)
        loop = asyncio.get_running_loop()
        due = loop.time() + _SECONDS_PER_TOKEN * tokens
        waiting = _Waiting(due, next(self.numbers), tokens, item, loop.create_future())
        heappush(self.queue, waiting)
        if self.batching is None:
            self.batching = loop.create_task(self._score_queue())
        return await waiting.result

    async def _score_queue(self) -> None:
        """Score batches until the queue is empty."""
        loop = asyncio.get_running_loop()
        await asyncio.sleep(BATCH_WAIT_SECONDS)
        while batch := self._next_batch():
            results = await loop.run_in_executor(self.thread, self._extract, [waiting.item for waiting in batch])
            for waiting, result in zip(batch, results, strict=True):
                if not waiting.result.done():
                    waiting.result.set_result(result)
        self.batching = None

    def _next_batch(self) -> list[_Waiting]:
        """Remove the documents of the next batch from the queue, and those whose requests were canceled."""
        batch: list[_Waiting] = []
        tokens = 0
        while self.queue and (not batch or tokens + self.queue[0].tokens <= MAX_BATCH_TOKENS):
            waiting = heappop(self.queue)
            if not waiting.result.done():
                batch.append(waiting)
                tokens += waiting.tokens
        return batch

    def _extract(self, inputs: list[ModelInput]) -> list[Result]:
        """Extract from a batch; if that fails, from each document separately, so that only the cause fails."""
        results: dict[int, Result] = {}
        documents, options = zip(*inputs, strict=True)
        # A batch that takes too long ends the process, because a thread cannot be stopped. Serve starts another one.
        faulthandler.dump_traceback_later(self.settings.timeout, exit=True)
        try:
            results.update(self.extractor.iter_annotations(documents, options=options))
        except Exception as error:
            if len(inputs) == 1:
                return [internal_error(error)]
            return [result for item in inputs for result in self._extract([item])]
        finally:
            faulthandler.cancel_dump_traceback_later()
        return [results[i] for i in range(len(inputs))]
