"""Ranges of files that hold many documents: lines of JSONL, by bytes or by number, and rows of Parquet."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from io import BufferedIOBase
from typing import Any, NamedTuple

from pyarrow import ArrowException
from pyarrow.parquet import ParquetFile

from formnet.errors import LimitError
from formnet.io.readers.jsonl import LONGEST_LINE
from formnet.io.readers.parquet import each_row
from formnet.scale.bulk.storage import StoragePath

#: What a document's words need, of all that a table may hold.
_COLUMNS = ("schema", "id", "pages", "words", "boxes", "width", "height", "confidences", "text_source")
_TOO_LONG = f"is longer than {LONGEST_LINE >> 20} MiB; split the document."


class Record(NamedTuple):
    """A document as it stands in a file, still unread, or why it cannot be had."""

    position: int
    raw: bytes | None
    reason: str | None = None


def lines(place: StoragePath, start: int, stop: int) -> Iterator[Record]:
    """Give the lines that begin between two bytes of a file."""
    with place.open() as file:
        position = start
        if start:  # the line before may reach in here
            file.seek(start - 1)
            position += _pass_over(file) - 1
        for taken, raw in _split(file):
            if position >= stop:
                return
            if raw is None or raw.strip():
                yield Record(position, raw, _TOO_LONG if raw is None else None)
            position += taken


def packed_lines(place: StoragePath, start: int, stop: int | None = None) -> Iterator[Record]:
    """Give some lines of a gzipped file by number; what is before them has to be unpacked, too."""
    number = -1
    with place.open() as packed, gzip.open(packed) as file:
        try:
            for number, (_, raw) in enumerate(_split(file)):
                if stop is not None and number >= stop:
                    return
                if number >= start and (raw is None or raw.strip()):
                    yield Record(number, raw, _TOO_LONG if raw is None else None)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            yield Record(number + 1, None, f"cannot be unpacked from here on: {error}.")


def rows(place: StoragePath, start: int, stop: int) -> Iterator[Record]:
    """Give some rows of a Parquet file by number, as JSON; only the row groups that hold them are read."""
    with place.open() as opened, ParquetFile(opened) as file:
        end = 0
        for group in range(file.metadata.num_row_groups):
            begin, end = end, end + file.metadata.row_group(group).num_rows
            if begin < stop and end > start:
                yield from _of_group(file, group, begin, max(begin, start), min(end, stop))


def _of_group(file: ParquetFile, group: int, begin: int, start: int, stop: int) -> Iterator[Record]:
    """Give some rows of a group that begins so; from one that cannot be had on, the group's rest is lost."""
    columns = [name for name in file.schema_arrow.names if name in _COLUMNS]
    position = start
    try:
        for number, row in enumerate(each_row(file, [group], columns), begin):
            if number >= stop:
                return
            if number >= start:
                yield _row(number, row)
                position = number + 1
    except (ArrowException, MemoryError, OSError, LimitError) as error:
        for lost in range(position, stop):
            yield Record(lost, None, f"cannot be read from the Parquet file: {error}.")


#: How each kind of range is read.
READERS: dict[str, Callable[[StoragePath, int, int], Iterator[Record]]] = {
    "lines": lines,
    "packed": packed_lines,
    "rows": rows,
}


def _row(number: int, row: Any) -> Record:
    if row.nbytes > LONGEST_LINE:
        return Record(number, None, _TOO_LONG)
    try:
        cells = row.to_pylist()[0] if row.num_columns else {}
        known = {name: value for name, value in cells.items() if value is not None}
        return Record(number, json.dumps(known).encode())
    except (TypeError, ValueError) as error:
        return Record(number, None, f"holds what JSON cannot say: {error}.")
    except MemoryError:
        return Record(number, None, "takes more memory than a document may.")


def _split(file: BufferedIOBase) -> Iterator[tuple[int, bytes | None]]:
    """Give lines, each with the bytes that it takes; nothing for one that is too long."""
    while raw := file.readline(LONGEST_LINE + 1):
        if len(raw) <= LONGEST_LINE:
            yield len(raw), raw
        else:
            yield len(raw) + (0 if raw.endswith(b"\n") else _pass_over(file)), None


def _pass_over(file: BufferedIOBase) -> int:
    """Go to the end of a line and give the number of bytes passed."""
    passed = 0
    while raw := file.readline(2**20):
        passed += len(raw)
        if raw.endswith(b"\n"):
            break
    return passed
