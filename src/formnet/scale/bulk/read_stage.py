"""The first stage: a shard → its documents as JSON, still to be parsed, or why one cannot be had.

Lines and rows are only carried on. A file is read in a process of its own: PDF, picture and OCR libraries are not ours.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
import ray
from pyarrow import ArrowException

from formnet.document import Document
from formnet.errors import FormNetError, LimitError
from formnet.io.images import MOST_BYTES
from formnet.io.ocr import find_engine, is_theirs
from formnet.io.readers import read
from formnet.scale.bulk.attempts import MOST_ATTEMPTS, begin, end
from formnet.scale.bulk.plan import Shard, shards_of
from formnet.scale.bulk.records import READERS, Record, lines
from formnet.scale.bulk.storage import StoragePath, storage_path
from formnet.scale.isolation import LostError, alone, count_arrow, limited_memory, within_memory

#: One shard a row. What could not be had has a reason instead of a document.
SHARD_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("sources", pa.list_(pa.string())),
        ("documents", pa.list_(pa.large_binary())),
        ("reasons", pa.list_(pa.string())),
        ("failure", pa.string()),
    ]
)
_STAGE = "read"
#: Libraries leak; a process that has read this many files is replaced.
_FILES_A_PROCESS = 1000
#: What a position in a file is called.
_MARKS = {"lines": "byte={}", "packed": "line={}", "rows": "row={}"}


@dataclass(frozen=True)
class Limits:
    """What one document may cost."""

    seconds: float = 120.0
    memory: int = 2 * 2**30


class Item(NamedTuple):
    """A document on its way to the network: where it is from, and its JSON or the reason that there is none."""

    source: str
    document: bytes | None
    reason: str | None = None


def read_shards(block: pa.Table, ocr: str, limits: Limits, attempts: Any) -> Iterator[pa.Table]:
    """Read the shards of a block one after the other; those that belong together, in one go."""
    for _, group in groupby(shards_of(block), key=lambda shard: (shard.source, shard.together)):
        shards = list(group)
        done = 0
        try:
            if begin(attempts, _STAGE, shards[0].number) > MOST_ATTEMPTS:
                raise FormNetError("it crashed the process that read it.")
            for shard, records in _records(shards, limits.memory):
                yield _row(shard.number, list(_items(shard, records, ocr, limits)))
                done += 1
        except (OSError, ArrowException, FormNetError) as error:
            for shard in shards[done:]:
                yield _row(shard.number, [], f"{shard.source}: cannot be read: {error}")
        end(attempts, _STAGE, shards[0].number)


def _records(shards: Sequence[Shard], memory: int) -> Iterator[tuple[Shard, list[Record]]]:
    """Go once through the part of a file that some shards are in, and give each its own records."""
    kind, place = shards[0].kind, storage_path(shards[0].source)
    if kind != "files" and place.size != shards[0].size:
        raise FormNetError("it has changed since the run began; begin another, into another folder.")
    stream = READERS.get(kind, lines)(place, shards[0].start, shards[-1].stop)
    if kind == "rows":  # lines are bounded as they are read
        stream = within_memory(stream, memory)
    record = next(stream, None)
    for shard in shards:
        records = []
        while record is not None and record.position < shard.stop:
            if record.position >= shard.start:
                records.append(record)
            record = next(stream, None)
        yield shard, records


def _items(shard: Shard, records: Sequence[Record], ocr: str, limits: Limits) -> Iterator[Item]:
    for record in records:
        if shard.kind == "files":
            assert record.raw is not None
            yield from _read_file(json.loads(record.raw), ocr, limits)
        else:
            position = record.position + (shard.kind != "lines")  # lines and rows count from one
            yield Item(f"{shard.source}#{_MARKS[shard.kind].format(position)}", record.raw, record.reason)


def _row(number: int, items: Sequence[Item], failure: str | None = None) -> pa.Table:
    sources, documents, reasons = (list(column) for column in zip(*items, strict=True)) if items else ([], [], [])
    row = {"number": number, "sources": sources, "documents": documents, "reasons": reasons, "failure": failure}
    return pa.Table.from_pylist([row], SHARD_SCHEMA)


def _read_file(address: str, ocr: str, limits: Limits) -> list[Item]:
    # Whoever is ended for taking too long cleans nothing up: what is fetched lies in a folder of the one who asks.
    with TemporaryDirectory(prefix="formnet-", ignore_cleanup_errors=True) as folder:
        try:
            items: list[Item] = alone(_read_here, address, folder, ocr, limits.memory, seconds=limits.seconds)
        except LostError as error:
            return [Item(address, None, str(error))]
        return items


@ray.remote(max_calls=_FILES_A_PROCESS)
def _read_here(address: str, folder: str, ocr: str, memory: int) -> list[Item]:
    """Read a file; whatever is wrong with it is its own reason."""
    count_arrow()
    try:
        path = _fetched(storage_path(address), Path(folder))
        if is_theirs(ocr):  # whatever it takes to load is not the document's; if it cannot be, a picture will say so
            with suppress(Exception):
                find_engine(ocr)
        with limited_memory(memory):
            try:
                return [Item(address, _packed(document, path, address)) for document in read(path, ocr)]
            except FormNetError as error:
                return [Item(address, None, str(error).replace(str(path), address))]
    except MemoryError:
        return [Item(address, None, f"took more than {memory >> 20:,} MiB of memory.")]
    except Exception as error:  # a parser's own mistake is the document's misfortune, not the run's
        return [Item(address, None, f"{type(error).__name__}: {error}")]


def _packed(document: Document, path: Path, address: str) -> bytes:
    """Give a document's words as JSON; one that took its name from where it was fetched to gets its own back."""
    name = address if document.id == str(path) else document.id
    plain = replace(document, id=name, entities=(), links=(), fields={}).to_json()
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()


def _fetched(place: StoragePath, folder: Path) -> Path:
    """Give a file that is here; one from elsewhere is fetched first."""
    if not place.is_url:
        return Path(place.path)
    if place.size > MOST_BYTES:
        raise LimitError(f"{place}: has {place.size >> 20:,} MiB; the limit is {MOST_BYTES >> 20} MiB.")
    path = folder / PurePosixPath(place.path).name
    with place.open() as source, path.open("wb") as copy:
        shutil.copyfileobj(source, copy, 2**20)
    return path
