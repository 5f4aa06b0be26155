"""An input → a fixed sequence of shards, written down before any work begins, so that every run does the same work.

A shard is a range of a file: bytes of JSONL or of our own list of files, lines of what is gzipped, rows of Parquet.
"""

import io
import json
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import ArrowException
from pyarrow.parquet import ParquetFile, ParquetWriter, read_table

from formnet.errors import SettingsError
from formnet.io.readers import SUFFIXES
from formnet.io.readers.jsonl import SUFFIXES as LINES
from formnet.scale.bulk.records import packed_lines
from formnet.scale.bulk.storage import StoragePath, storage_path

#: What a list of files is called in the output, and the shards themselves.
FILES, SHARDS = "files.jsonl", "shards.parquet"

_SAMPLE = 2**20
_ROWS = 10_000
_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("source", pa.string()),
        ("size", pa.int64()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("together", pa.int64()),
    ]
)


class Shard(NamedTuple):
    """Consecutive documents: the unit of work, of retry and of output."""

    number: int
    kind: str  # lines, packed, rows; files are lines of a list
    source: str
    size: int  # of the file, which must not change
    start: int
    stop: int
    together: int  # shards with the same number here are best read in one go


class Plan(NamedTuple):
    """How many shards there are, and how many documents if that is known without reading them all."""

    shards: int
    documents: int | None


class _Range(NamedTuple):
    kind: str
    size: int
    start: int
    stop: int
    documents: int | None
    follows: bool = False  # it is read in one go with the one before


def write_plan(source: str, output: StoragePath, shard: int) -> Plan:
    """Cut the input into shards of about so many documents and write them down."""
    waiting: list[dict[str, Any]] = []
    shards = together = 0
    documents: int | None = 0
    files = output / FILES
    with (
        files.writing() as listed,
        (output / SHARDS).writing() as stream,
        ParquetWriter(stream, _SCHEMA) as table,
    ):
        for place, cut in _ranges(source, files, shard, listed):
            together = together if cut.follows else shards
            one = Shard(shards, cut.kind, place.address, cut.size, cut.start, cut.stop, together)
            waiting.append(one._asdict())
            shards += 1
            documents = None if documents is None or cut.documents is None else documents + cut.documents
            if len(waiting) == _ROWS:
                table.write_batch(pa.RecordBatch.from_pylist(waiting, _SCHEMA))
                waiting.clear()
        table.write_batch(pa.RecordBatch.from_pylist(waiting, _SCHEMA))
    if shards == 0:
        raise SettingsError(f"{source}: holds no file that can be read; known are {', '.join(SUFFIXES)}.")
    return Plan(shards, documents)


def missing_shards(output: StoragePath, done: "np.ndarray[Any, np.dtype[np.bool_]]") -> pa.Table:
    """Give the shards that are not done."""
    with (output / SHARDS).open() as file:
        return read_table(file).filter(pa.array(~done))


def in_blocks(shards: pa.Table, most: int) -> list[pa.Table]:
    """Put shards into at most so many blocks, of which each is read by one task; what belongs together stays so."""
    together = shards["together"].to_numpy()
    least = -(-len(shards) // most)
    starts = [0]
    for start in (np.flatnonzero(np.diff(together)) + 1).tolist():
        if start - starts[-1] >= least:
            starts.append(start)
    return [shards.slice(a, b - a) for a, b in zip(starts, [*starts[1:], len(shards)], strict=True) if b > a]


def shards_of(table: pa.Table) -> list[Shard]:
    """Give the shards in a block."""
    return [Shard(**row) for row in table.to_pylist()]


def _ranges(source: str, files: StoragePath, shard: int, listed: Any) -> Iterator[tuple[StoragePath, _Range]]:
    """Cut files that hold many documents, and list the others, so many to a shard."""
    start = end = count = 0
    for place in find_files(source):
        ranges = _cut(place, shard)
        if ranges is not None:
            yield from ((place, one) for one in ranges)
            continue
        line = json.dumps(place.address).encode() + b"\n"
        listed.write(line)
        end += len(line)
        count += 1
        if count == shard:
            yield files, _Range("files", 0, start, end, count)
            start, count = end, 0
    if count:
        yield files, _Range("files", 0, start, end, count)


def find_files(source: str) -> Iterator[StoragePath]:
    """Give what a folder, a glob, a list of paths (.txt) or a file's own name stands for, in a stable order."""
    place = storage_path(source)
    kind = place.kind
    if kind == "nothing" and any(mark in source for mark in ("*[" if place.is_url else "*?[")):
        yield from _glob(source)
    elif kind == "nothing":
        raise SettingsError(f"{source}: there is no such file or folder.")
    elif kind == "folder":
        yield from (file for file in place.files() if file.path.lower().endswith(SUFFIXES))
    elif place.path.lower().endswith(".txt"):
        yield from _manifest(place)
    else:
        yield place


def _glob(source: str) -> Iterator[StoragePath]:
    import re

    from fsspec.utils import glob_translate

    fixed = re.split(r"[*?\[]" if "://" not in source else r"[*\[]", source, maxsplit=1)[0].rpartition("/")[0]
    folder = storage_path(fixed or ("/" if source.startswith("/") else "."))
    rest = source[len(fixed) :].lstrip("/")
    matches = re.compile(glob_translate(rest)).match
    above = len(folder.path.rstrip("/")) + 1  # whose own name may hold brackets
    if folder.kind != "folder":
        raise SettingsError(f"{source}: there is no folder {folder}.")
    yield from (file for file in folder.files() if matches(file.path[above:]))


def _manifest(place: StoragePath) -> Iterator[StoragePath]:
    """Give the paths that a list names; relative ones are beside it."""
    folder = storage_path(place.address.rpartition("/")[0] or "/")
    with place.open() as file, io.TextIOWrapper(file, encoding="utf-8-sig") as text:
        for line in text:
            if name := line.strip():
                is_whole = "://" in name or name.startswith(("/", "~"))
                yield storage_path(name) if is_whole else folder / name


def _cut(place: StoragePath, shard: int) -> list[_Range] | Iterator[_Range] | None:
    """Cut a file that holds many documents; nothing for any other, and for one that its reader must explain."""
    name = place.path.lower()
    try:
        if name.endswith(".parquet"):
            return _cut_rows(place, shard)
        if name.endswith(LINES) and place.size:
            with place.open() as file:
                sample = file.read(_SAMPLE)
            return _cut_packed(place, shard) if sample[:2] == b"\x1f\x8b" else _cut_bytes(place.size, sample, shard)
    except (ArrowException, OSError):
        return None
    return None


def _cut_bytes(size: int, sample: bytes, shard: int) -> Iterator[_Range]:
    """Cut by bytes, as many as so many documents take at the beginning: nothing has to be counted."""
    documents = size * max(sample.count(b"\n"), 1) / len(sample)
    count = max(round(documents / shard), 1)
    for number in range(count):
        yield _Range("lines", size, size * number // count, size * (number + 1) // count, None)


def _cut_packed(place: StoragePath, shard: int) -> Iterator[_Range]:
    """Cut by lines, which have to be unpacked to be counted."""
    size = place.size
    start = count = 0
    for record in packed_lines(place, 0):
        if count == shard:
            yield _Range("packed", size, start, record.position, count, start > 0)
            start, count = record.position, 0
        count += 1
    if count:
        yield _Range("packed", size, start, 2**62, count, start > 0)


def _cut_rows(place: StoragePath, shard: int) -> list[_Range]:
    """Cut by rows, and read together what begins in one row group."""
    with place.open() as opened, ParquetFile(opened) as file:
        metadata = file.metadata
    total, size = metadata.num_rows, place.size
    ends = np.cumsum([metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)])
    starts = range(0, total, shard)
    group = np.searchsorted(ends, list(starts), side="right")
    follows = [False, *(group[1:] == group[:-1]).tolist()]
    stops = [min(start + shard, total) for start in starts]
    return [_Range("rows", size, a, b, b - a, again) for a, b, again in zip(starts, stops, follows, strict=False)]
