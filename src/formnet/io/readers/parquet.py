"""Parquet with a row a document, in the columns that our JSON has as keys."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.errors import DocumentError, LimitError
from formnet.io.readers.jsonl import LONGEST_LINE, from_json

#: What a document may have, of all that a table may hold.
COLUMNS = (
    "schema", "id", "pages", "words", "boxes", "width", "height", "confidences", "image", "frame", "text_source",
    "entities", "links", "fields",
)  # fmt: skip
_ROWS = 64
#: A group of rows that unpacks to more is refused.
_LARGEST_GROUP = 2 * 2**30


def count(path: Path) -> int:
    """Count the documents in a file: its footer says."""
    with _open(path) as file:
        return int(file.metadata.num_rows)


def each(path: Path) -> Iterator[Document | DocumentError]:
    """Give the documents in a file, or why one cannot be had; a few rows are in memory at a time."""
    number = 0
    try:
        with _open(path) as file:
            columns = [name for name in file.schema_arrow.names if name in COLUMNS]
            if not columns:
                raise DocumentError(f"{path}: has no column of a document; those are {', '.join(COLUMNS)}.")
            for row in each_row(file, range(file.metadata.num_row_groups), columns):
                number += 1
                try:
                    if row.nbytes > LONGEST_LINE:
                        raise LimitError(f"holds more than {LONGEST_LINE >> 20} MiB; split the document.")
                    yield from_json(_cells(row), base=path.parent)
                except DocumentError as error:
                    yield type(error)(f"{path}, row {number}: {error}")
    except DocumentError as error:  # and what would follow is lost, too
        yield error if str(path) in str(error) else type(error)(f"{path}, after row {number}: {error}")


def each_row(file: Any, groups: Iterable[int], columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Give the rows of some groups one by one; large ones are not unpacked many at a time."""
    for group in groups:
        known = file.metadata.row_group(group)
        if known.total_byte_size > _LARGEST_GROUP:
            size, most = known.total_byte_size >> 20, _LARGEST_GROUP >> 20
            raise LimitError(
                f"a group of rows unpacks to {size:,} MiB; the limit is {most:,} MiB. Write smaller groups."
            )
        fitting = LONGEST_LINE * known.num_rows // max(known.total_byte_size, 1)
        for batch in file.iter_batches(batch_size=min(max(fitting, 1), _ROWS), row_groups=[group], columns=columns):
            yield from (batch.slice(i, 1) for i in range(batch.num_rows))


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise DocumentError(f"{path}: reading Parquet needs pyarrow; run pip install 'formnet[train]'.") from error
    try:
        with ParquetFile(path) as file:
            yield file
    except (ArrowException, OSError) as error:
        raise DocumentError(f"{path}: is no Parquet that can be read: {error}.") from error


def _cells(row: Any) -> dict[str, Any]:
    try:
        cells = {name: value for name, value in row.to_pylist()[0].items() if value is not None}
    except (ValueError, OverflowError) as error:
        raise DocumentError(f"holds what cannot be read: {error}.") from error
    return {**cells, "fields": _fields(cells)}


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    """Give a map as it is, or a structure without what it has no value for."""
    try:
        return {name: value for name, value in dict(row.get("fields") or ()).items() if value is not None}
    except (TypeError, ValueError) as error:
        raise DocumentError(f"'fields' should map names to strings: {error}.") from error
