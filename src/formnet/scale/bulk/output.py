"""What a bulk run writes: a part a shard, one row a document; the same documents give the same bytes."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from pyarrow.parquet import write_table

from formnet.document import Document, Entity
from formnet.extraction.output import entity_answer, is_ambiguous
from formnet.scale.bulk.storage import StoragePath

ENTITIES, ERRORS = "entities", "errors"

_ENTITY = pa.struct(
    [
        ("label", pa.string()),
        ("text", pa.string()),
        ("value", pa.string()),
        ("currency", pa.string()),
        ("ambiguous", pa.bool_()),
        ("page", pa.int32()),
        ("score", pa.float64()),
        ("ocr_score", pa.float64()),
        ("review", pa.bool_()),
        ("words", pa.list_(pa.int32())),
        ("boxes", pa.list_(pa.list_(pa.float64()))),
    ]
)
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("source", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("pages", pa.int32()),
        ("words", pa.int32()),
        ("text_source", pa.list_(pa.string())),
        ("entities", pa.list_(_ENTITY)),
    ]
)
ERROR_SCHEMA = pa.schema([SCHEMA.field(name) for name in ("id", "source", "reason")])

Row = dict[str, Any]


def found(document: Document, source: str, entities: Sequence[Entity], least: float) -> Row:
    """Give the row of a document that went well."""
    return {
        "id": document.id,
        "source": source,
        "status": "ok",
        "reason": None,
        "pages": len(document.pages),
        "words": document.num_words,
        "text_source": list(dict.fromkeys(page.text_source for page in document.pages if page.text_source)),
        "entities": [_entity(entity, least) for entity in entities],
    }


def failed(name: str | None, source: str, reason: str) -> Row:
    """Give the row of a document that did not."""
    empty: Row = {"pages": None, "words": None, "text_source": [], "entities": []}
    return {"id": name, "source": source, "status": "error", "reason": reason, **empty}


def write_part(output: StoragePath, number: int, rows: Sequence[Row]) -> None:
    """Write a shard's rows; when the entities are there, all of it is."""
    name = part_name(number)
    errors = [{key: row[key] for key in ERROR_SCHEMA.names} for row in rows if row["status"] == "error"]
    if errors:
        (output / ERRORS / name).write(_parquet(errors, ERROR_SCHEMA))
    elif (output / ERRORS / name).kind == "file":  # of an attempt that did not get to the end
        (output / ERRORS / name).delete()
    (output / ENTITIES / name).write(_parquet(rows, SCHEMA))


def part_name(number: int) -> str:
    """Name the part that a shard is written to."""
    return f"part-{number:07d}.parquet"


def _entity(entity: Entity, least: float) -> Row:
    told = entity_answer(entity, least)
    ambiguous = is_ambiguous(told["value"])
    value = told.pop("value") or {}
    return {**told, "value": value.get("value"), "currency": value.get("currency"), "ambiguous": ambiguous}


def _parquet(rows: Sequence[Row], schema: pa.Schema) -> pa.Buffer:
    stream = pa.BufferOutputStream()
    write_table(pa.Table.from_pylist(list(rows), schema), stream, compression="zstd", compression_level=3)
    return stream.getvalue()
