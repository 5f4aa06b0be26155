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
from formnet.extraction.fields import CheckOutput, Fields
from formnet.extraction.output import EntityOutput, to_output
from formnet.extraction.schema import FieldSchema, Schema
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
    currency: str | None = None
    date_order: str | None = None
    type: str | None = None
    type_score: float | None = None
    fields: Fields | None = None
    checks: list[CheckOutput] = []
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


#: Groups and Arrow types by name and whether it is a list.
_Tree = dict[tuple[str, bool], Any]


def row_schema(schema: Schema) -> pa.Schema:
    """Return the Arrow schema of rows; that of `fields` follows from the schema of the model."""
    tree: _Tree = {}
    for field in schema.fields:
        group = tree
        for name, is_list in field.segments[:-1]:
            group = group.setdefault((name, is_list), {})
        group[field.segments[-1]] = _field_type(field, schema)
        group |= {(name, False): pa.string() for name in field.constants}
    return pa.schema(
        (name, _arrow_tree(tree) if name == "fields" else arrow_type(field.annotation))
        for name, field in BulkRow.model_fields.items()
    )


def _field_type(field: FieldSchema, schema: Schema) -> pa.DataType:
    """Return the type of a field; where it is printed is in the entities."""
    number = field.type in ("amount", "quantity")
    keys = [("value", pa.float64() if number else pa.string()), *_FIELD_KEYS]
    if reference := schema.references.get(field.plain_path):
        entry = pa.struct([(column, pa.string()) for column in reference.columns])
        keys.append(("reference", pa.struct([("entry", entry), ("score", pa.float64())])))
    return pa.struct(keys)


def _arrow_tree(tree: _Tree) -> pa.DataType:
    """Convert groups to a struct."""
    types = []
    for (name, is_list), part in tree.items():
        part_type = _arrow_tree(part) if isinstance(part, dict) else part
        types.append((name, pa.list_(part_type) if is_list else part_type))
    return pa.struct(types)


_FIELD_KEYS = [("text", pa.string()), ("key_text", pa.string()), ("score", pa.float64()), ("review", pa.bool_())]
#: Columns of a part.
COLUMNS = tuple(BulkRow.model_fields)
ERROR_SCHEMA = pa.schema([(name, pa.string()) for name in ("id", "source", "error")])


def result_row(document: Document, source: str, schema: Schema) -> BulkRow:
    """Build the row of a processed document."""
    output = to_output(document, schema)
    return BulkRow(
        id=document.id,
        source=source,
        status="ok",
        pages=len(document.pages),
        words=document.num_words,
        text_source=list(dict.fromkeys(page.text_source for page in document.pages if page.text_source)),
        currency=output.currency,
        date_order=output.date_order,
        type=output.type,
        type_score=output.type_score,
        fields=output.fields,
        checks=output.checks,
        entities=output.entities,
    )


def error_row(name: str | None, source: str, error: str) -> BulkRow:
    """Build the row of a document that could not be processed."""
    return BulkRow(id=name, source=source, status="error", error=error)


def write_part(output: StoragePath, number: int, rows: Sequence[BulkRow], schema: Schema) -> None:
    """Write the rows of a shard: errors first, so that the part is complete once its entities exist."""
    name = part_name(number)
    errors = [row for row in rows if row.status == "error"]
    if errors:
        (output / ERRORS / name).write(_to_parquet(errors, ERROR_SCHEMA))
    elif (output / ERRORS / name).kind == "file":  # left by an attempt that did not finish
        (output / ERRORS / name).delete()
    (output / ENTITIES / name).write(_to_parquet(rows, row_schema(schema)))


def is_complete(part: StoragePath) -> bool:
    """Return whether a part is a readable Parquet file with the columns of this version."""
    try:
        with part.open() as opened, ParquetFile(opened) as file:
            return tuple(file.schema_arrow.names) == COLUMNS
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
