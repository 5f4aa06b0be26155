"""Parquet with a row a document, in the columns that our JSON has as keys."""

from collections.abc import Iterator
from pathlib import Path

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.readers.jsonl import from_json

_ROWS = 64


def read(path: Path) -> Iterator[Document]:
    """Give the documents in a file, a few rows in memory at a time."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise DocumentError(f"{path}: reading Parquet needs pyarrow; run pip install 'formnet[train]'.") from error
    number = 0
    try:
        with ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=_ROWS):
                for row in batch.to_pylist():
                    number += 1
                    fields = {name: value for name, value in dict(row.get("fields") or ()).items() if value is not None}
                    yield from_json({**row, "fields": fields}, base=path.parent)
    except DocumentError as error:
        raise type(error)(f"{path}, row {number}: {error}") from error
    except ArrowException as error:
        raise DocumentError(f"{path}: is no Parquet that can be read: {error}.") from error
