"""The second stage: documents → entities → a part. An actor holds an `Extractor`; a shard is extracted as one batch."""

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

from formnet.document import Document, Entity
from formnet.errors import FormNetError
from formnet.extraction.runtime import hold_caches
from formnet.io.readers.jsonl import Line, from_json, loads
from formnet.scale.bulk.attempts import MOST_ATTEMPTS, begin, end
from formnet.scale.bulk.output import Row, failed, found, write_part
from formnet.scale.bulk.read_stage import Item
from formnet.scale.bulk.storage import storage_path
from formnet.scale.isolation import LostError, alone

if TYPE_CHECKING:
    from formnet.extraction.extractor import Extractor

_STAGE = "extract"
#: One shard a row: what became of it.
RESULT_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("documents", pa.int64()),
        ("errors", pa.int64()),
        ("seconds", pa.float64()),
        ("failure", pa.string()),  # why the shard is not done
        ("fatal", pa.bool_()),  # whether no other could be
    ]
)
#: Pieces that are scored together; a shard has few documents of like length, and larger batches would be padded more.
MAX_BATCH_TOKENS = 4096
#: What a process may take to load torch and a model, or to compile one.
_SECONDS_TO_LOAD = 120.0


@dataclass(frozen=True)
class Work:
    """What an actor needs to know."""

    model: str
    output: str
    threads: int
    seconds: float  # for one document
    least: float
    day_first: bool | None
    attempts: Any
    warm_up: bool


#: Documents of a shard that are encoded before the first is scored: enough for batches of like length.
_TOGETHER = 256


class ExtractionActor:
    """Extracts shards and writes their parts."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self.output = storage_path(work.output)
        self.extractor: Extractor | None = None
        try:
            self.extractor = _extractor(work.model, work.threads, work.day_first)
            if work.warm_up:
                self.extractor.warm_up()
        except FormNetError as error:
            self.failure = str(error)

    def __call__(self, batch: pa.Table) -> pa.Table:
        """Extract from one shard and write its part; give what became of it."""
        start = perf_counter()
        (shard,) = batch.to_pylist()
        result = {"number": shard["number"], "documents": 0, "errors": 0, "failure": shard["failure"], "fatal": False}
        if self.extractor is None:
            result |= {"failure": self.failure, "fatal": True}
        elif shard["failure"] is None:
            attempt = begin(self.work.attempts, _STAGE, shard["number"])
            items = [Item(*item) for item in zip(shard["sources"], shard["documents"], shard["reasons"], strict=True)]
            if attempt > MOST_ATTEMPTS:
                result["failure"] = f"its worker died {attempt - 1} times."
            else:
                result |= self._extract(self.extractor, shard["number"], items, careful=attempt > 1)
            end(self.work.attempts, _STAGE, shard["number"])
        return pa.Table.from_pylist([{**result, "seconds": perf_counter() - start}], RESULT_SCHEMA)

    def _extract(self, extractor: "Extractor", number: int, items: Sequence[Item], *, careful: bool) -> dict[str, Any]:
        rows = self._rows(extractor, items, careful=careful)
        try:
            write_part(self.output, number, rows)
        except OSError as error:
            return {"failure": f"{self.output}: cannot be written: {error}", "fatal": True}
        return {"documents": len(rows), "errors": sum(row["status"] == "error" for row in rows)}

    def _rows(self, extractor: "Extractor", items: Sequence[Item], *, careful: bool) -> list[Row]:
        """Give a row for each item, in order; with care, what would kill this process is found out in another."""
        rows: dict[int, Row] = {}
        documents: dict[int, Document] = {}
        for i, item in enumerate(items):
            try:
                documents[i] = self._parse(item, careful=careful)
            except FormNetError as error:
                rows[i] = failed(None, item.source, str(error))
        numbers = list(documents)
        try:
            for start in range(0, len(numbers), _TOGETHER):
                some = numbers[start : start + _TOGETHER]
                self._watch()
                for k, answer in _entities(extractor, [documents[i] for i in some]):
                    rows[some[k]] = self._row(documents[some[k]], items[some[k]].source, answer)
                    self._watch()
        finally:
            faulthandler.cancel_dump_traceback_later()
        return [rows[i] for i in range(len(items))]

    def _watch(self) -> None:
        """End this process unless an answer comes in time; stuck, it cannot tell. Its shard comes again, with care."""
        faulthandler.dump_traceback_later(self.work.seconds + _SECONDS_TO_LOAD, exit=True)

    def _row(self, document: Document, source: str, answer: list[Entity] | Exception) -> Row:
        try:
            if isinstance(answer, Exception):
                raise answer
            return found(document, source, answer, self.work.least)
        except Exception as error:  # one document's, not the shard's
            return failed(document.id, source, f"{type(error).__name__}: {error}")

    def _parse(self, item: Item, *, careful: bool) -> Document:
        if item.document is None:
            raise FormNetError(item.reason or "")
        if careful:
            try:
                alone(_try, self.work.model, item.document, seconds=self.work.seconds + _SECONDS_TO_LOAD)
            except LostError as error:
                raise FormNetError(f"extraction from it {error}") from error
        return parse(item.document)


def parse(raw: bytes) -> Document:
    """Give the document that JSON says, without what is known of it already."""
    return from_json(loads(Line(Path(), 1, raw)), words_only=True)


def _entities(extractor: "Extractor", documents: Sequence[Document]) -> Iterator[tuple[int, list[Entity] | Exception]]:
    """Extract from all, batch by batch; after a failure each that is left alone, so that it fails only for itself."""
    left = dict(enumerate(documents))
    try:
        for i, found in extractor.iter_entities(documents):
            del left[i]
            yield i, found
    except Exception as error:  # whatever a document does to the network is its own misfortune
        for i, document in left.items():
            yield i, error if len(documents) == 1 else next(_entities(extractor, [document]))[1]


@cache
def _extractor(model: str, threads: int, day_first: bool | None = None) -> "Extractor":
    hold_caches()
    import torch
    from transformers.utils import logging

    from formnet.extraction.extractor import Extractor

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(threads)
    return Extractor.from_pretrained(model, max_batch_tokens=MAX_BATCH_TOKENS, day_first=day_first)


@ray.remote
def _try(model: str, document: bytes) -> None:
    """Extract from one document, to see whether this process survives; errors that do no harm are found later."""
    with suppress(Exception):
        _extractor(model, 1).entities([parse(document)])
