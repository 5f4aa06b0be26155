"""Second stage: extract the entities of a shard's documents and write its part. An actor holds an extractor."""

import faulthandler
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import ray

from formnet.document import Document
from formnet.errors import FormNetError
from formnet.extraction.annotations import Annotations
from formnet.extraction.references import ReferenceList
from formnet.extraction.runtime import limit_onednn_caches
from formnet.extraction.schema import Schema
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.jsonl import Line, from_json, parse_json
from formnet.scale.bulk.attempts import MAX_ATTEMPTS, begin, end
from formnet.scale.bulk.output import BulkRow, error_row, result_row, write_part
from formnet.scale.bulk.read_stage import DocumentLimits, Item
from formnet.scale.bulk.storage import storage_path
from formnet.scale.isolation import IsolationError, run_isolated

if TYPE_CHECKING:
    from formnet.extraction.base import DocumentExtractor

_STAGE = "extract"
#: One row per shard.
RESULT_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("documents", pa.int64()),
        ("errors", pa.int64()),
        ("seconds", pa.float64()),
        ("failure", pa.string()),  # why the shard is not done
        ("fatal", pa.bool_()),  # whether all other shards would fail, too
    ]
)
#: Maximum tokens per batch. A shard has few documents of similar length, so larger batches would mostly add padding.
MAX_BATCH_TOKENS = 4096
#: Documents that are encoded together, to form batches of similar length.
_CHUNK_DOCUMENTS = 256
#: Additional seconds for a process to load torch and a model, or to compile it.
_LOAD_SECONDS = 120.0


@dataclass(frozen=True)
class ExtractConfig:
    """Configuration of an actor."""

    model: str
    output: str
    threads: int
    limits: DocumentLimits
    min_score: float
    day_first: bool | None
    references: tuple[ReferenceList, ...]
    attempts: Any
    warm_up: bool


class ExtractionActor:
    """Actor that extracts from shards and writes their parts."""

    def __init__(self, config: ExtractConfig) -> None:
        self.config = config
        self.output = storage_path(config.output)
        self.extractor: DocumentExtractor | None = None
        try:
            self.extractor = _load_extractor(
                config.model, config.threads, config.min_score, config.day_first, config.references
            )
            if config.warm_up:
                self.extractor.warm_up()
        except FormNetError as error:
            self.failure = str(error)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Extract from one shard, write its part, and return the result."""
        start = perf_counter()
        (shard,) = batch.to_pylist()
        result = {"number": shard["number"], "documents": 0, "errors": 0, "failure": shard["failure"], "fatal": False}
        if self.extractor is None:
            result |= {"failure": self.failure, "fatal": True}
        elif shard["failure"] is None:
            attempt = begin(self.config.attempts, _STAGE, shard["number"])
            items = [Item(*item) for item in zip(shard["sources"], shard["documents"], shard["errors"], strict=True)]
            if attempt > MAX_ATTEMPTS:
                result["failure"] = f"its worker died {attempt - 1} times."
            else:
                result |= self._extract(self.extractor, shard["number"], items, isolate=attempt > 1)
            end(self.config.attempts, _STAGE, shard["number"])
        return pa.Table.from_pylist([{**result, "seconds": perf_counter() - start}], RESULT_SCHEMA)

    def _extract(
        self, extractor: "DocumentExtractor", number: int, items: Sequence[Item], *, isolate: bool
    ) -> dict[str, Any]:
        rows = self._rows(extractor, items, isolate=isolate)
        try:
            write_part(self.output, number, rows, extractor.schema)
        except OSError as error:
            return {"failure": f"{self.output}: cannot be written: {error}", "fatal": True}
        return {"documents": len(rows), "errors": sum(row.status == "error" for row in rows)}

    def _rows(self, extractor: "DocumentExtractor", items: Sequence[Item], *, isolate: bool) -> list[BulkRow]:
        """Build a row per item, in order; `isolate` tries each document in another process first."""
        rows: dict[int, BulkRow] = {}
        documents: dict[int, Document] = {}
        for i, item in enumerate(items):
            try:
                documents[i] = self._parse(item, isolate=isolate)
            except FormNetError as error:
                rows[i] = error_row(None, item.source, str(error))
        indices = list(documents)
        try:
            for start in range(0, len(indices), _CHUNK_DOCUMENTS):
                chunk = indices[start : start + _CHUNK_DOCUMENTS]
                self._reset_watchdog()
                for k, result in _iter_annotations(extractor, [documents[i] for i in chunk]):
                    rows[chunk[k]] = _to_row(documents[chunk[k]], items[chunk[k]].source, result, extractor.schema)
                    self._reset_watchdog()
        finally:
            faulthandler.cancel_dump_traceback_later()
        return [rows[i] for i in range(len(items))]

    def _reset_watchdog(self) -> None:
        """Exit the process unless this is called again in time; the shard is then retried in isolation."""
        faulthandler.dump_traceback_later(self.config.limits.timeout + _LOAD_SECONDS, exit=True)

    def _parse(self, item: Item, *, isolate: bool) -> Document:
        if item.document is None:
            raise FormNetError(item.error or "")
        if isolate:
            timeout = self.config.limits.timeout + _LOAD_SECONDS
            try:
                run_isolated(_extract_task, self.config.model, item.document, timeout=timeout)
            except IsolationError as error:
                raise FormNetError(f"extraction {error}") from error
        return parse_document(item.document, self.config.limits.read)


def parse_document(raw: bytes, limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Parse the JSON of a document, ignoring annotations."""
    return from_json(parse_json(Line(Path(), 1, raw)), words_only=True, limits=limits)


def _to_row(document: Document, source: str, result: Annotations | Exception, schema: Schema) -> BulkRow:
    try:
        if isinstance(result, Exception):
            raise result
        return result_row(result.apply_to(document), source, schema)
    except Exception as error:  # fails the document, not the shard
        return error_row(document.id, source, f"{type(error).__name__}: {error}")


def _iter_annotations(
    extractor: "DocumentExtractor", documents: Sequence[Document]
) -> Iterator[tuple[int, Annotations | Exception]]:
    """Extract from documents in batches; after an error, from each remaining one separately, so that only one fails."""
    remaining = dict(enumerate(documents))
    try:
        for i, annotations in extractor.iter_annotations(documents):
            del remaining[i]
            yield i, annotations
    except Exception as error:
        for i, document in remaining.items():
            yield i, error if len(documents) == 1 else next(_iter_annotations(extractor, [document]))[1]


@cache
def _load_extractor(
    model: str,
    threads: int,
    min_score: float = 0.0,
    day_first: bool | None = None,
    references: tuple[ReferenceList, ...] = (),
) -> "DocumentExtractor":
    limit_onednn_caches()
    import torch
    from transformers.utils import logging

    from formnet.extraction.auto import load_extractor

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(threads)
    return load_extractor(
        model, max_batch_tokens=MAX_BATCH_TOKENS, min_score=min_score, day_first=day_first, references=references
    )


@ray.remote
def _extract_task(model: str, document: bytes) -> None:
    """Extract from one document to test whether the process survives; exceptions are handled by the actor later."""
    with suppress(Exception):
        _load_extractor(model, 1).entities([parse_document(document)])
