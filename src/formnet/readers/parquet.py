"""Parquet with a row a document, in the columns that our JSON has as keys."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.readers.jsonl import from_json

_ROWS = 64


def count(path: Path) -> int:
    """Count the documents in a file: its footer says."""
    with _open(path) as file:
        return int(file.metadata.num_rows)


def read(path: Path) -> Iterator[Document]:
    """Give the documents in a file, a few rows in memory at a time."""
    number = 0
    with _open(path) as file:
        try:
            for batch in file.iter_batches(batch_size=_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    yield from_json({**row, "fields": _fields(row)}, base=path.parent)
        except DocumentError as error:
            raise type(error)(f"{path}, row {number}: {error}") from error


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


def _fields(row: dict[str, Any]) -> dict[str, Any]:
    """Give a map as it is, or a structure without what it has no value for."""
    try:
        return {name: value for name, value in dict(row.get("fields") or ()).items() if value is not None}
    except (TypeError, ValueError) as error:
        raise DocumentError(f"'fields' should map names to strings: {error}.") from error
