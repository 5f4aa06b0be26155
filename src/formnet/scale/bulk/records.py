"""Read ranges of files that hold many documents: lines of JSONL by byte or by number, and rows of Parquet."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pyarrow import ArrowException
from pyarrow.parquet import ParquetFile

from formnet.errors import LimitError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.jsonl import skip_line, split_lines
from formnet.io.readers.parquet import WORD_COLUMNS, iter_rows
from formnet.scale.bulk.storage import StoragePath


class Record(NamedTuple):
    """The unparsed JSON of a document, or the error that occurred instead."""

    position: int
    raw: bytes | None
    error: str | None = None


def read_lines(path: StoragePath, start: int, stop: int, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Record]:
    """Read the lines that begin in a range of bytes."""
    with path.open() as file:
        position = start
        if start:  # skip the rest of a line that begins before the range
            file.seek(start - 1)
            position += skip_line(file) - 1
        for line_position, raw in split_lines(file, limits, position):
            if line_position >= stop:
                return
            if raw is None or raw.strip():
                yield _line_record(line_position, raw, limits)


def read_gzip_lines(
    path: StoragePath, start: int, stop: int | None = None, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[Record]:
    """Read a range of lines of a gzip file by number; the lines before it are decompressed, too."""
    number = -1
    with path.open() as compressed, gzip.open(compressed) as file:
        try:
            for number, (_, raw) in enumerate(split_lines(file, limits)):
                if stop is not None and number >= stop:
                    return
                if number >= start and (raw is None or raw.strip()):
                    yield _line_record(number, raw, limits)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            yield Record(number + 1, None, f"cannot be decompressed from here on: {error}.")


def read_rows(path: StoragePath, start: int, stop: int, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Record]:
    """Read a range of rows of a Parquet file as JSON, from the row groups that contain them."""
    with path.open() as opened, ParquetFile(opened) as file:
        end = 0
        for group in range(file.metadata.num_row_groups):
            begin, end = end, end + file.metadata.row_group(group).num_rows
            if begin < stop and end > start:
                yield from _read_group(file, group, begin, max(begin, start), min(end, stop), limits)


def _read_group(
    file: ParquetFile, group: int, begin: int, start: int, stop: int, limits: ReadLimits
) -> Iterator[Record]:
    """Read a range of rows from the group that begins at row `begin`; after an error, the rest of the group is lost."""
    columns = [name for name in file.schema_arrow.names if name in WORD_COLUMNS]
    position = start
    try:
        for number, row in enumerate(iter_rows(file, [group], columns, limits), begin):
            if number >= stop:
                return
            if number >= start:
                yield _row_record(number, row, limits)
                position = number + 1
    except (ArrowException, MemoryError, OSError, LimitError) as error:
        for lost in range(position, stop):
            yield Record(lost, None, f"cannot be read from the Parquet file: {error}.")


#: Functions that read a range, by the kind of shard.
READERS: dict[str, Callable[[StoragePath, int, int, ReadLimits], Iterator[Record]]] = {
    "lines": read_lines,
    "gzip_lines": read_gzip_lines,
    "rows": read_rows,
}


def _line_record(position: int, raw: bytes | None, limits: ReadLimits) -> Record:
    return Record(position, raw, _size_error(limits) if raw is None else None)


def _row_record(number: int, row: Any, limits: ReadLimits) -> Record:
    if row.nbytes > limits.max_line_bytes:
        return Record(number, None, _size_error(limits))
    try:
        cells = row.to_pylist()[0] if row.num_columns else {}
        present = {name: value for name, value in cells.items() if value is not None}
        return Record(number, json.dumps(present).encode())
    except (TypeError, ValueError) as error:
        return Record(number, None, f"cannot be represented as JSON: {error}.")
    except MemoryError:
        return Record(number, None, "takes more memory than the limit per document.")


def _size_error(limits: ReadLimits) -> str:
    return f"longer than {limits.max_line_bytes >> 20} MiB (the limit). Split the document."
