"""Structured output as tables: one row per document, and one row per item of its lists."""

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from formnet.extraction.fields import FieldOutput, Fields
from formnet.extraction.output import DocumentOutput
from formnet.extraction.references import ReferenceList
from formnet.extraction.schema import FieldSchema, Schema

Cell = str | int | float | None
Row = dict[str, Cell]


def is_item(field: FieldSchema, schema: Schema) -> bool:
    """Return whether a field belongs to the items of a list, which are rows of their own."""
    return bool(field.lists) and field.lists[0] in schema.anchors


def document_columns(schema: Schema) -> list[str]:
    """Return the columns of documents; a payment in cash is in the column `payments.cash`."""
    columns = ["document", *(["type"] if schema.by_type else []), "currency"]
    for field in schema.fields:
        if not is_item(field, schema):
            column = _column(field, schema)
            columns += [column, *_reference_columns(column, schema.references.get(field.plain_path))]
    return [*dict.fromkeys(columns), "review", "failed_checks"]


def item_columns(schema: Schema) -> list[str]:
    """Return the columns of items; empty if the schema has none."""
    names: list[str] = []
    for field in filter(partial(is_item, schema=schema), schema.fields):
        column = _column(field, schema)
        names += [column, *_reference_columns(column, schema.references.get(field.plain_path))]
    return ["document", "list", "item", *dict.fromkeys(names), "review"] if names else []


def date_columns(schema: Schema) -> set[str]:
    """Return the columns that contain dates."""
    return {_column(field, schema) for field in schema.fields if field.type == "date"}


def _column(field: FieldSchema, schema: Schema) -> str:
    if is_item(field, schema):
        return field.plain_path.partition(".")[2]
    names = [segment.name for segment in field.segments]
    return ".".join([names[0], *field.constants.values()] if field.constants else names)


def document_row(output: DocumentOutput, schema: Schema) -> Row:
    """Return the row of a document; several values of a field are separated by semicolons."""
    cells: dict[str, list[FieldOutput]] = {}
    for path, constants, field in header_fields(output.fields, schema):
        cells.setdefault(".".join([path, *constants]), []).append(field)
    failed = dict.fromkeys(check.name for check in output.checks if check.status == "failed")
    to_review = [column for column, fields in cells.items() if any(field.review for field in fields)]
    row: Row = dict.fromkeys(document_columns(schema))
    row |= {"document": output.document, "currency": output.currency}
    if schema.by_type:
        row["type"] = output.type
    for column, fields in cells.items():
        row |= {column: _cell(fields), **_reference_cells(column, fields)}
    return row | {"review": "; ".join(to_review), "failed_checks": "; ".join(failed)}


def item_rows(output: DocumentOutput, schema: Schema) -> Iterator[Row]:
    """Yield the rows of a document's items."""
    for name, items in output.fields.items():
        if name not in schema.anchors:
            continue
        for number, item in enumerate(items, 1):
            cells: dict[str, list[FieldOutput]] = {}
            for column, field in _all_fields(item):
                cells.setdefault(column, []).append(field)
            row: Row = dict.fromkeys(item_columns(schema))
            row |= {"document": output.document, "list": name, "item": number}
            for column, fields in cells.items():
                row |= {column: _cell(fields), **_reference_cells(column, fields)}
            yield row | {"review": "; ".join(c for c, fields in cells.items() if any(f.review for f in fields))}


class ItemTable(NamedTuple):
    """The items of a list as rows; the modifiers of an item follow it."""

    name: str
    columns: list[str]
    rows: list[tuple[Fields, bool]]  # fields, and whether they belong to the item above


def item_tables(fields: Fields, schema: Schema) -> Iterator[ItemTable]:
    """Yield the lists of items that people see as tables."""
    for name in filter(schema.anchors.__contains__, fields):
        rows = [row for item in fields[name] for row in ((item, False), *((part, True) for part in _groups(item)))]
        columns = (key for row, _ in rows for key, field in row.items() if isinstance(field, FieldOutput))
        yield ItemTable(name, list(dict.fromkeys(columns)), rows)


def _groups(item: Fields) -> Iterator[Fields]:
    """Yield the groups in the lists of an item, such as its modifiers."""
    for part in item.values():
        if isinstance(part, list):
            yield from (group for group in part if isinstance(group, dict))


def header_fields(fields: Fields, schema: Schema) -> Iterator[tuple[str, list[str], FieldOutput]]:
    """Yield the fields outside of items: path, constants of their group such as `cash`, and field."""
    for name, item in fields.items():
        if name in schema.anchors:
            continue
        for element in item if isinstance(item, list) else [item]:
            parts = element.values() if isinstance(element, dict) else ()
            constants = [part for part in parts if isinstance(part, str)]
            for path, field in _all_fields(element, name):
                yield name if constants else path, constants, field


def _all_fields(item: Any, path: str = "") -> Iterator[tuple[str, FieldOutput]]:
    """Yield the fields in an item with their paths."""
    if isinstance(item, FieldOutput):
        yield path, item
    elif isinstance(item, list):
        for element in item:
            yield from _all_fields(element, path)
    elif isinstance(item, dict):
        for name, part in item.items():
            yield from _all_fields(part, f"{path}.{name}" if path else name)


def _reference_columns(column: str, reference: ReferenceList | None) -> list[str]:
    """Return the columns of a field's entry in a reference list: `merchant.name.match`, and then `….match.score`."""
    if reference is None:
        return []
    return [f"{column}.match", *(f"{column}.match.{name}" for name in (*reference.columns[1:], "score"))]


def _reference_cells(column: str, fields: list[FieldOutput]) -> Row:
    """Return the cells of the entry that a field matches; those of several fields are separated by semicolons."""
    matches = [field.reference for field in fields]
    found = next((match for match in matches if match is not None), None)
    if found is None:
        return {}
    if len(fields) == 1:
        cells: Row = {**found.entry, "score": found.score}
    else:
        cells = {
            name: "; ".join("" if match is None else match.entry[name] for match in matches) for name in found.entry
        }
        cells["score"] = "; ".join("" if match is None else str(match.score) for match in matches)
    first, *_ = found.entry
    return {f"{column}.match" if name == first else f"{column}.match.{name}": cell for name, cell in cells.items()}


def _cell(fields: list[FieldOutput]) -> Cell:
    if len(fields) == 1:
        return fields[0].value
    return "; ".join(str(field.value) for field in fields if field.value is not None)
