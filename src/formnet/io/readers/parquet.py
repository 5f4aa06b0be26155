"""Parquet files with one document per row, in columns named like the keys of the JSON format."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.errors import DocumentError, LimitError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.jsonl import from_json

#: Columns with the words of a document.
WORD_COLUMNS = ("schema", "id", "pages", "words", "boxes", "width", "height", "confidences", "text_source")
#: Columns that are read; others are ignored.
COLUMNS = (*WORD_COLUMNS, "image", "frame", "entities", "links", "fields")
_MAX_BATCH_ROWS = 64


def count(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> int:  # noqa: ARG001 - signature of a reader module
    """Return the number of documents in a file, from its footer."""
    with _open(path) as file:
        return int(file.metadata.num_rows)


def read_each(path: Path, limits: ReadLimits = DEFAULT_LIMITS, skip: int = 0) -> Iterator[Document | DocumentError]:
    """Iterate over the documents in a file after the first `skip`, yielding the error for each invalid row.

    A few rows are in memory.
    """
    number = skip
    try:
        with _open(path) as file:
            columns = [name for name in file.schema_arrow.names if name in COLUMNS]
            if not columns:
                raise DocumentError(f"{path}: has no document columns. Expected some of {', '.join(COLUMNS)}.")
            rows = iter_rows(file, range(file.metadata.num_row_groups), columns, limits)
            for row in islice(rows, skip, None):
                number += 1
                try:
                    if row.nbytes > limits.max_line_bytes:
                        raise LimitError(
                            f"larger than {limits.max_line_bytes >> 20} MiB (the limit). Split the document."
                        )
                    yield from_json(_cells(row), base=path.parent, limits=limits)
                except DocumentError as error:
                    yield type(error)(f"{path}, row {number}: {error}")
    except DocumentError as error:  # ends the iteration: the following rows cannot be read
        yield error if str(path) in str(error) else type(error)(f"{path}, after row {number}: {error}")


def iter_rows(
    file: Any, groups: Iterable[int], columns: Sequence[str] | None = None, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[Any]:
    """Iterate over the rows of row groups, decompressing fewer at a time if they are large."""
    for group in groups:
        metadata = file.metadata.row_group(group)
        if metadata.total_byte_size > limits.max_row_group_bytes:
            size, limit = metadata.total_byte_size >> 20, limits.max_row_group_bytes >> 20
            raise LimitError(f"a row group of {size:,} MiB (limit {limit:,} MiB). Write smaller row groups.")
        max_rows = limits.max_line_bytes * metadata.num_rows // max(metadata.total_byte_size, 1)
        batch_size = min(max(max_rows, 1), _MAX_BATCH_ROWS)
        for batch in file.iter_batches(batch_size=batch_size, row_groups=[group], columns=columns):
            yield from (batch.slice(i, 1) for i in range(batch.num_rows))


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise DocumentError(f"{path}: reading Parquet requires pyarrow. Run pip install 'formnet[train]'.") from error
    try:
        with ParquetFile(path) as file:
            yield file
    except (ArrowException, OSError) as error:
        raise DocumentError(f"{path}: cannot be read as Parquet: {error}.") from error


def _cells(row: Any) -> dict[str, Any]:
    try:
        cells = {name: value for name, value in row.to_pylist()[0].items() if value is not None}
    except (ValueError, OverflowError) as error:
        raise DocumentError(f"invalid value: {error}.") from error
    return {**cells, "fields": _fields(cells)}


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a row, stored as a map or as a struct, without null values."""
    try:
        return {name: value for name, value in dict(row.get("fields") or ()).items() if value is not None}
    except (TypeError, ValueError) as error:
        raise DocumentError(f"'fields' must map names to strings: {error}.") from error
