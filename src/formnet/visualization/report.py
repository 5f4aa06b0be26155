"""A self-contained HTML report next to the pages: entities sorted by confidence, items as rows, and checks."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path

from formnet.document import Document, Entity, Page
from formnet.extraction.fields import FieldOutput, Fields, to_fields
from formnet.extraction.output import entity_output, format_value
from formnet.extraction.schema import Schema
from formnet.extraction.tables import item_tables
from formnet.io.images import data_url
from formnet.io.writers import atomic_write
from formnet.visualization.canvas import page_canvas
from formnet.visualization.captions import Color
from formnet.visualization.overlay import label_colors

_ASSETS = files(__package__)


def write_report(documents: Sequence[Document], file: Path, model: str = "", schema: Schema | None = None) -> None:
    """Write a report of documents and their entities and, given a schema, their items and checks."""
    entities = [entity for document in documents for entity in document.entities]
    colors = label_colors(entity.label for entity in entities)
    to_review = sum(entity.review for entity in entities)
    summary = f"{_count(len(documents), 'document')}, {_count(len(entities), 'field')}"
    summary += f", {to_review} to review" if to_review else ""
    style, script = _asset("report.css"), _asset("report.js")
    head = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; img-src data:; "
        f"style-src '{_digest(style)}'; script-src '{_digest(script)}'\">",
        f"<title>FormNet: {escape(summary)}</title><style>{style}</style>",
        f"<header><h1>{escape(summary)}</h1><p>{escape(model)}</p></header>",
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as part, part.open("w", encoding="utf-8") as out:
        out.writelines(f"{line}\n" for line in head)
        for number, document in enumerate(documents):  # holds the page images of one document at a time
            out.write(_section(document, number, colors, schema) + "\n")
        out.write(f"<script>{script}</script></html>\n")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _digest(content: str) -> str:
    """Return the hash by which a content security policy admits an inline script or style sheet."""
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def _section(document: Document, number: int, colors: dict[str, Color], schema: Schema | None) -> str:
    keys = {id(entity): f"{number}-{i}" for i, entity in enumerate(document.entities)}
    figures = []
    for index, page in enumerate(document.pages):
        on_page = [entity for entity in document.entities if entity.page == index]
        figures.append(_figure(page, index, on_page, keys, colors))
    by_confidence = sorted(document.entities, key=lambda entity: entity.score or 0.0)
    rows = "".join(_row(entity, keys[id(entity)], colors) for entity in by_confidence)
    table = (
        "<table><thead><tr><th>field<th>text<th>confidence<th>OCR</tr></thead><tbody>" + rows + "</tbody></table>"
        if rows
        else "<p>No fields found.</p>"
    )
    structure = "" if schema is None else _structure(document, schema, list(keys.values()))
    return (
        f"<section><h2>{escape(document.id)}</h2><div>{''.join(figures)}</div>"
        f"<div class=fields>{structure}{table}</div></section>"
    )


def _structure(document: Document, schema: Schema, keys: Sequence[str]) -> str:
    """Return the items of a document as tables, and its checks."""
    fields, checks = to_fields(document, schema)
    parts = []
    for table in item_tables(fields, schema):
        head = "".join(f"<th>{escape(column.replace('_', ' '))}" for column in table.columns)
        body = "".join(_item_row(row, table.columns, document, keys) for row, _ in table.rows)
        caption = f"<caption>{escape(table.name.replace('_', ' '))}</caption>"
        parts.append(f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    items = "".join(
        f"<li class={check.status}>{escape(check.describe())}" for check in checks if check.status != "not_applicable"
    )
    return "".join(parts) + (f"<ul class=checks>{items}</ul>" if items else "")


def _item_row(row: Fields, columns: Sequence[str], document: Document, keys: Sequence[str]) -> str:
    """Return a row of fields; it is linked to the frames of all entities that the fields consist of."""
    own = [field for field in row.values() if isinstance(field, FieldOutput)]
    words = {word for field in own for word in field.words}
    linked = " ".join(
        key for key, entity in zip(keys, document.entities, strict=True) if words.issuperset(entity.words)
    )
    review = " class=review" if any(field.review for field in own) else ""
    cells = "".join(
        f"<td{' class=n' if number else ''}>{escape(row[column].text) if column in row else ''}"
        for number, column in enumerate(columns)
    )
    return f'<tr{review} tabindex=0 data-e="{linked}">{cells}</tr>'


def _figure(page: Page, index: int, entities: Sequence[Entity], keys: dict[int, str], colors: dict[str, Color]) -> str:
    rects = []
    for entity in entities:
        color = "rgb({},{},{})".format(*colors[entity.label])
        review = " class=review" if entity.review else ""
        for x0, y0, x1, y1 in entity.boxes:
            rects.append(
                f'<rect{review} data-e="{keys[id(entity)]}" x="{x0:.6g}" y="{y0:.6g}" width="{x1 - x0:.6g}" '
                f'height="{y1 - y0:.6g}" fill="{color}" stroke="{color}"><title>{escape(entity.label)}: '
                f"{escape(entity.text)}</title></rect>"
            )
    text_source = f", text from {page.text_source}" if page.text_source else ""
    return (
        f'<figure><div><img alt="page {index + 1}" src="{data_url(page_canvas(page, 0.0).finish())}">'
        f'<svg viewBox="0 0 {page.width:.6g} {page.height:.6g}" preserveAspectRatio="none">{"".join(rects)}</svg></div>'
        f"<figcaption>page {index + 1}{escape(text_source)}</figcaption></figure>"
    )


def _row(entity: Entity, key: str, colors: dict[str, Color]) -> str:
    value = entity_output(entity).value
    text = format_value(value) + (" ?" if value is not None and value.ambiguous else "")
    value_line = f"<br><small>{escape(text)}</small>" if text else ""
    color = "rgb({},{},{})".format(*colors[entity.label])
    review = " class=review" if entity.review else ""
    scores = "".join(f"<td class=n>{'' if s is None else f'{s:.2f}'}" for s in (entity.score, entity.ocr_score))
    return (
        f'<tr{review} tabindex=0 data-e="{key}"><td>'
        f'<svg class=dot viewBox="0 0 2 2"><circle cx=1 cy=1 r=1 fill="{color}" /></svg>'
        f"{escape(entity.label)}<td class=t>{escape(entity.text)}{value_line}{scores}</tr>"
    )
