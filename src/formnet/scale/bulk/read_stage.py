"""First stage: read the documents of a shard as unparsed JSON, or the error of each that cannot be read.

Lines and rows are passed on. Other files are parsed in a child process, because PDF, image and OCR libraries may
crash or hang.
"""

import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import ArrowException

from formnet.document import Document
from formnet.errors import DocumentError, FormNetError, LimitError
from formnet.io.isolation import IsolatedReader, IsolationLimits
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.scale.bulk.attempts import MAX_ATTEMPTS, begin, end
from formnet.scale.bulk.plan import Shard, parse_shards
from formnet.scale.bulk.records import READERS, Record, read_lines
from formnet.scale.bulk.storage import StoragePath, storage_path
from formnet.scale.isolation import iter_within_memory

#: One row per shard. Documents that cannot be read are null and have an error.
SHARD_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("sources", pa.list_(pa.string())),
        ("documents", pa.list_(pa.large_binary())),
        ("errors", pa.list_(pa.string())),
        ("failure", pa.string()),
    ]
)
_STAGE = "read"
#: Fragments that identify a document within a file.
_FRAGMENTS = {"lines": "byte={}", "gzip_lines": "line={}", "rows": "row={}"}


@dataclass(frozen=True)
class DocumentLimits:
    """Limits per document."""

    timeout: float = 120.0  # seconds
    memory: int = 2 * 2**30  # bytes
    read: ReadLimits = DEFAULT_LIMITS


class Item(NamedTuple):
    """The source of a document, and its JSON or the error that occurred instead."""

    source: str
    document: bytes | None
    error: str | None = None


def read_shards(block: pa.Table, ocr: str, limits: DocumentLimits, attempts: Any) -> Iterator[pa.Table]:
    """Read the shards of a block one after the other; those of a read group in one pass."""
    for _, group in groupby(parse_shards(block), key=lambda shard: (shard.source, shard.read_group)):
        shards = list(group)
        done = 0
        try:
            if begin(attempts, _STAGE, shards[0].number) > MAX_ATTEMPTS:
                raise FormNetError("it crashed the process that read it.")
            for shard, records in _read_records(shards, limits):
                yield _row(shard.number, list(_items(shard, records, ocr, limits)))
                done += 1
        except (OSError, ArrowException, FormNetError) as error:
            for shard in shards[done:]:
                yield _row(shard.number, [], f"{shard.source}: cannot be read: {error}")
        end(attempts, _STAGE, shards[0].number)


def _read_records(shards: Sequence[Shard], limits: DocumentLimits) -> Iterator[tuple[Shard, list[Record]]]:
    """Read the part of a file that a read group covers, and yield the records of each shard."""
    kind, path = shards[0].kind, storage_path(shards[0].source)
    if kind != "files" and path.version != shards[0].version:
        raise FormNetError("the file has changed since the run started. Start another run with another folder.")
    stream = READERS.get(kind, read_lines)(path, shards[0].start, shards[-1].stop, limits.read)
    if kind == "rows":  # lines have a maximum length
        stream = iter_within_memory(stream, limits.memory)
    record = next(stream, None)
    for shard in shards:
        records = []
        while record is not None and record.position < shard.stop:
            if record.position >= shard.start:
                records.append(record)
            record = next(stream, None)
        yield shard, records


def _items(shard: Shard, records: Sequence[Record], ocr: str, limits: DocumentLimits) -> Iterator[Item]:
    for record in records:
        if shard.kind == "files":
            assert record.raw is not None
            yield from _read_file(json.loads(record.raw), ocr, limits)
        else:
            position = record.position + (shard.kind != "lines")  # numbers of lines and rows start at 1
            yield Item(f"{shard.source}#{_FRAGMENTS[shard.kind].format(position)}", record.raw, record.error)


def _row(number: int, items: Sequence[Item], failure: str | None = None) -> pa.Table:
    sources, documents, errors = (list(column) for column in zip(*items, strict=True)) if items else ([], [], [])
    row = {"number": number, "sources": sources, "documents": documents, "errors": errors, "failure": failure}
    return pa.Table.from_pylist([row], SHARD_SCHEMA)


def _read_file(address: str, ocr: str, limits: DocumentLimits) -> list[Item]:
    with TemporaryDirectory(prefix="formnet-", ignore_cleanup_errors=True) as folder:
        path = Path(address)
        try:
            path = _download(storage_path(address), Path(folder), limits.read)
            documents = list(_open_reader(ocr, limits).read_each(path))
        except (FormNetError, OSError) as error:
            return [Item(address, None, str(error).replace(str(path), address))]
    return [
        Item(address, None, str(document).replace(str(path), address))
        if isinstance(document, DocumentError)
        else Item(address, _to_json(document, path, address))
        for document in documents
    ]


@cache
def _open_reader(ocr: str, limits: DocumentLimits) -> IsolatedReader:
    """Start the child process of this process; it ends with this process."""
    return IsolatedReader(ocr, limits.read, IsolationLimits(limits.timeout, limits.memory))


def _to_json(document: Document, path: Path, address: str) -> bytes:
    """Serialize a document; an ID that is the path of a download becomes the address."""
    named = replace(document, id=address) if document.id == str(path) else document
    return json.dumps(named.to_json(), ensure_ascii=False, separators=(",", ":")).encode()


def _download(source: StoragePath, folder: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Path:
    """Return the local path of a file, downloading it to a folder if necessary."""
    if not source.is_url:
        return Path(source.path)
    if source.size > limits.max_file_bytes:
        raise LimitError(f"{source}: {source.size >> 20:,} MiB (limit {limits.max_file_bytes >> 20} MiB).")
    path = folder / PurePosixPath(source.path).name
    with source.open() as remote, path.open("wb") as local:
        shutil.copyfileobj(remote, local, 2**20)
    return path
