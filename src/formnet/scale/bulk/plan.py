"""Split the input into a fixed sequence of shards, stored before any work begins, so that every run does the same work.

A shard is a range of a file: bytes of JSONL or of a list of files, lines of gzipped JSONL, or rows of Parquet.
"""

import io
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from fsspec.utils import glob_translate
from pyarrow import ArrowException
from pyarrow.parquet import ParquetFile, ParquetWriter, read_table

from formnet.errors import SettingsError
from formnet.io.file_types import SUFFIXES
from formnet.io.readers.jsonl import SUFFIXES as JSONL_SUFFIXES
from formnet.scale.bulk.records import read_gzip_lines
from formnet.scale.bulk.storage import StoragePath, storage_path

#: Names of the list of files and of the table of shards in the output folder.
FILES, SHARDS = "files.jsonl", "shards.parquet"

_SAMPLE_BYTES = 2**20
_BATCH_ROWS = 10_000
_NO_LIMIT = 2**62
_SCHEMA = pa.schema(
    [
        ("number", pa.int64()),
        ("kind", pa.string()),
        ("source", pa.string()),
        ("version", pa.string()),
        ("start", pa.int64()),
        ("stop", pa.int64()),
        ("read_group", pa.int64()),
    ]
)


class Shard(NamedTuple):
    """Consecutive documents: the unit of work, of retry and of output."""

    number: int
    kind: str  # lines, gzip_lines or rows, or files: lines of the list of files
    source: str
    version: str  # of the file, which must not change
    start: int
    stop: int
    read_group: int  # consecutive shards with the same value are read in one pass


class Plan(NamedTuple):
    """The numbers of shards and of documents; the latter is None if it would require reading the input."""

    shards: int
    documents: int | None


class _Range(NamedTuple):
    kind: str
    version: str
    start: int
    stop: int
    documents: int | None
    joins_previous: bool = False  # read in one pass with the range before


def write_plan(source: str, output: StoragePath, shard_size: int) -> Plan:
    """Split the input into shards of about `shard_size` documents, and write them to the output folder."""
    batch: list[dict[str, Any]] = []
    shards = read_group = 0
    documents: int | None = 0
    files = output / FILES
    with (
        files.open_output() as file_list,
        (output / SHARDS).open_output() as stream,
        ParquetWriter(stream, _SCHEMA) as table,
    ):
        for path, part in _ranges(source, files, shard_size, file_list):
            read_group = read_group if part.joins_previous else shards
            shard = Shard(shards, part.kind, path.address, part.version, part.start, part.stop, read_group)
            batch.append(shard._asdict())
            shards += 1
            documents = None if documents is None or part.documents is None else documents + part.documents
            if len(batch) == _BATCH_ROWS:
                table.write_batch(pa.RecordBatch.from_pylist(batch, _SCHEMA))
                batch.clear()
        table.write_batch(pa.RecordBatch.from_pylist(batch, _SCHEMA))
    if shards == 0:
        raise SettingsError(f"{source}: contains no supported file. Supported suffixes are {', '.join(SUFFIXES)}.")
    return Plan(shards, documents)


def count_shards(output: StoragePath) -> int:
    """Return the number of shards of a plan."""
    with (output / SHARDS).open() as file, ParquetFile(file) as table:
        return int(table.metadata.num_rows)


def missing_shards(output: StoragePath, done: "np.ndarray[Any, np.dtype[np.bool_]]") -> pa.Table:
    """Load the shards that are not done."""
    with (output / SHARDS).open() as file:
        return read_table(file).filter(pa.array(~done))


def split_blocks(shards: pa.Table, max_blocks: int) -> list[pa.Table]:
    """Split shards into at most `max_blocks` blocks, each read by one task; a read group is never split."""
    read_groups = shards["read_group"].to_numpy()
    min_shards = -(-len(shards) // max_blocks)
    starts = [0]
    for start in (np.flatnonzero(np.diff(read_groups)) + 1).tolist():
        if start - starts[-1] >= min_shards:
            starts.append(start)
    return [shards.slice(a, b - a) for a, b in zip(starts, [*starts[1:], len(shards)], strict=True) if b > a]


def parse_shards(table: pa.Table) -> list[Shard]:
    """Convert a block to shards."""
    return [Shard(**row) for row in table.to_pylist()]


def _ranges(source: str, files: StoragePath, shard_size: int, file_list: Any) -> Iterator[tuple[StoragePath, _Range]]:
    """Split files with many documents into ranges, and write the others to a list of files that is split likewise."""
    start = end = count = 0
    for path in list_inputs(source):
        ranges = split_file(path, shard_size)
        if ranges is not None:
            yield from ((path, part) for part in ranges)
            continue
        line = json.dumps(path.address).encode() + b"\n"
        file_list.write(line)
        end += len(line)
        count += 1
        if count == shard_size:
            yield files, _Range("files", "", start, end, count)
            start, count = end, 0
    if count:
        yield files, _Range("files", "", start, end, count)


def list_inputs(source: str) -> Iterator[StoragePath]:
    """List the files of an input in a stable order: a folder, a glob, a list of paths (.txt) or a single file."""
    path = storage_path(source)
    kind = path.kind
    if kind == "nothing" and any(wildcard in source for wildcard in ("*[" if path.is_url else "*?[")):
        yield from _glob(source)
    elif kind == "nothing":
        raise SettingsError(f"{source}: no such file or folder.")
    elif kind == "folder":
        yield from (file for file in path.files() if file.path.lower().endswith(SUFFIXES))
    elif path.path.lower().endswith(".txt"):
        yield from _read_file_list(path)
    else:
        yield path


def _glob(source: str) -> Iterator[StoragePath]:
    fixed = re.split(r"[*?\[]" if "://" not in source else r"[*\[]", source, maxsplit=1)[0].rpartition("/")[0]
    folder = storage_path(fixed or ("/" if source.startswith("/") else "."))
    pattern = re.compile(glob_translate(source[len(fixed) :].lstrip("/")))
    prefix = len(folder.path.rstrip("/")) + 1  # matched separately, because the folder's name may contain brackets
    if folder.kind != "folder":
        raise SettingsError(f"{source}: no such folder: {folder}.")
    yield from (file for file in folder.files() if pattern.match(file.path[prefix:]))


def _read_file_list(path: StoragePath) -> Iterator[StoragePath]:
    """Read a list of paths; relative paths are relative to the folder of the list."""
    folder = storage_path(path.address.rpartition("/")[0] or "/")
    with path.open() as file, io.TextIOWrapper(file, encoding="utf-8-sig") as text:
        for line in text:
            if name := line.strip():
                is_absolute = "://" in name or name.startswith(("/", "~"))
                yield storage_path(name) if is_absolute else folder / name


def split_file(path: StoragePath, shard_size: int) -> list[_Range] | Iterator[_Range] | None:
    """Split a file with many documents; return None for other files and for unreadable ones, which fail when read."""
    name = path.path.lower()
    try:
        if name.endswith(".parquet"):
            return _split_rows(path, shard_size)
        if name.endswith(JSONL_SUFFIXES) and path.size:
            with path.open() as file:
                sample = file.read(_SAMPLE_BYTES)
            is_gzip = sample[:2] == b"\x1f\x8b"
            return _split_gzip_lines(path, shard_size) if is_gzip else _split_bytes(path, sample, shard_size)
    except (ArrowException, OSError):
        return None
    return None


def _split_bytes(path: StoragePath, sample: bytes, shard_size: int) -> Iterator[_Range]:
    """Split by bytes, estimating the number of lines from the beginning of the file."""
    size, version = path.size, path.version
    documents = size * max(sample.count(b"\n"), 1) / len(sample)
    count = max(round(documents / shard_size), 1)
    for number in range(count):
        yield _Range("lines", version, size * number // count, size * (number + 1) // count, None)


def _split_gzip_lines(path: StoragePath, shard_size: int) -> Iterator[_Range]:
    """Split by lines, which requires decompressing the file."""
    version = path.version
    start = count = 0
    for record in read_gzip_lines(path, 0):
        if count == shard_size:
            yield _Range("gzip_lines", version, start, record.position, count, start > 0)
            start, count = record.position, 0
        count += 1
    if count:
        yield _Range("gzip_lines", version, start, _NO_LIMIT, count, start > 0)


def _split_rows(path: StoragePath, shard_size: int) -> list[_Range]:
    """Split by rows; ranges that begin in the same row group are read in one pass."""
    with path.open() as opened, ParquetFile(opened) as file:
        metadata = file.metadata
    total, version = metadata.num_rows, path.version
    ends = np.cumsum([metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)])
    starts = range(0, total, shard_size)
    group = np.searchsorted(ends, list(starts), side="right")
    joins = [False, *(group[1:] == group[:-1]).tolist()]
    stops = [min(start + shard_size, total) for start in starts]
    return [_Range("rows", version, a, b, b - a, join) for a, b, join in zip(starts, stops, joins, strict=False)]
