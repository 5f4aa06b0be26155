"""Output of a bulk run: one part per shard with one row per document; equal documents produce equal bytes."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pyarrow as pa
from pyarrow import ArrowException
from pyarrow.parquet import ParquetFile, write_table
from pydantic import BaseModel

from formnet.document import Document
from formnet.extraction.output import EntityOutput, to_entities
from formnet.scale.bulk.storage import StoragePath

ENTITIES, ERRORS = "entities", "errors"

_SCALARS = {str: pa.string(), int: pa.int32(), float: pa.float64(), bool: pa.bool_()}


class BulkRow(BaseModel):
    """One document: its entities, or the error that occurred instead."""

    id: str | None
    source: str
    status: Literal["ok", "error"]
    error: str | None = None
    pages: int | None = None
    words: int | None = None
    text_source: list[str] = []
    entities: list[EntityOutput] = []


def arrow_type(annotation: Any) -> pa.DataType:
    """Return the Arrow type for the annotation of a pydantic field.

    >>> arrow_type(list[int] | None)
    ListType(list<item: int32>)
    """
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return arrow_type(arguments[0])
    if origin in (Union, UnionType):
        (inner,) = (argument for argument in arguments if argument is not NoneType)
        return arrow_type(inner)
    if origin is Literal:
        return arrow_type(type(arguments[0]))
    if origin in (list, tuple):
        return pa.list_(arrow_type(arguments[0]))
    if is_dataclass(annotation):
        return pa.struct([(field.name, arrow_type(field.type)) for field in fields(annotation)])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return pa.struct(_arrow_fields(annotation))
    return _SCALARS[annotation]


def _arrow_fields(model: type[BaseModel]) -> list[tuple[str, pa.DataType]]:
    return [(name, arrow_type(field.annotation)) for name, field in model.model_fields.items()]


SCHEMA = pa.schema(_arrow_fields(BulkRow))
ERROR_SCHEMA = pa.schema([SCHEMA.field(name) for name in ("id", "source", "error")])


def result_row(document: Document, source: str) -> BulkRow:
    """Build the row of a processed document."""
    return BulkRow(
        id=document.id,
        source=source,
        status="ok",
        pages=len(document.pages),
        words=document.num_words,
        text_source=list(dict.fromkeys(page.text_source for page in document.pages if page.text_source)),
        entities=to_entities(document),
    )


def error_row(name: str | None, source: str, error: str) -> BulkRow:
    """Build the row of a document that could not be processed."""
    return BulkRow(id=name, source=source, status="error", error=error)


def write_part(output: StoragePath, number: int, rows: Sequence[BulkRow]) -> None:
    """Write the rows of a shard: errors first, so that the part is complete once its entities exist."""
    name = part_name(number)
    errors = [row for row in rows if row.status == "error"]
    if errors:
        (output / ERRORS / name).write(_to_parquet(errors, ERROR_SCHEMA))
    elif (output / ERRORS / name).kind == "file":  # left by an attempt that did not finish
        (output / ERRORS / name).delete()
    (output / ENTITIES / name).write(_to_parquet(rows, SCHEMA))


def is_complete(part: StoragePath) -> bool:
    """Return whether a part is a readable Parquet file with the columns of this version."""
    try:
        with part.open() as opened, ParquetFile(opened) as file:
            return bool(file.schema_arrow.names == SCHEMA.names)
    except (ArrowException, OSError):
        return False


def part_name(number: int) -> str:
    """Return the file name of a shard's part."""
    return f"part-{number:07d}.parquet"


def _to_parquet(rows: Sequence[BulkRow], schema: pa.Schema) -> pa.Buffer:
    stream = pa.BufferOutputStream()
    table = pa.Table.from_pylist([row.model_dump(include=set(schema.names)) for row in rows], schema)
    write_table(table, stream, compression="zstd", compression_level=3)
    return stream.getvalue()
