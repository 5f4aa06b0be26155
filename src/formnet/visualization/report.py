"""A self-contained HTML report next to the pages: fields sorted by confidence, items as rows, and checks."""

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from pathlib import Path

from formnet.document import Document, Entity, Page
from formnet.extraction.fields import FieldOutput
from formnet.extraction.output import to_output
from formnet.extraction.schema import Schema
from formnet.extraction.tables import ItemTable, header_fields, item_tables
from formnet.io.images import data_url
from formnet.io.writers import atomic_write
from formnet.visualization.canvas import page_canvas
from formnet.visualization.captions import Color
from formnet.visualization.overlay import label_colors

_ASSETS = files(__package__)
#: An entity with the name that links its frames and its row.
KeyedEntity = tuple[str, Entity]


def write_report(documents: Sequence[Document], file: Path, schema: Schema, model: str = "") -> None:
    """Write a report of the fields, items and checks of documents."""
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


def _section(document: Document, number: int, colors: dict[str, Color], schema: Schema) -> str:
    keys = [f"{number}-{i}" for i in range(len(document.entities))]
    keyed = list(zip(keys, document.entities, strict=True))
    figures = []
    for index, page in enumerate(document.pages):
        on_page = [(key, entity) for key, entity in keyed if entity.page == index]
        figures.append(_figure(page, index, on_page, colors))
    output = to_output(document, schema)
    # The least certain fields come first.
    header = sorted(header_fields(output.fields, schema), key=lambda row: row[2].score or 0.0)
    rows = "".join(
        _row(" ".join([path, *constants]), field, output.currency, keyed, colors) for path, constants, field in header
    )
    parts = [f"<table><thead><tr><th>field<th>value<th>confidence<th>OCR</tr></thead><tbody>{rows}</tbody></table>"]
    parts += [_item_table(items, keyed) for items in item_tables(output.fields, schema)]
    checks = [check for check in output.checks if check.status != "not_applicable"]
    items = "".join(f"<li class={check.status}>{escape(check.describe())}" for check in checks)
    parts += [f"<ul class=checks>{items}</ul>"] if items else []
    return (
        f"<section><h2>{escape(document.id)}</h2><div>{''.join(figures)}</div>"
        f"<div class=fields>{''.join(parts) if document.entities else '<p>No fields found.</p>'}</div></section>"
    )


def _row(
    name: str, field: FieldOutput, currency: str | None, keyed: Sequence[KeyedEntity], colors: dict[str, Color]
) -> str:
    own = _entities_of([field], keyed)
    shown = field.format(currency) or "not readable"
    printed = " ".join(filter(None, (field.key_text, field.text)))
    text = f"{escape(shown)}<br><small>{escape(printed)}</small>" if printed != shown else escape(shown)
    if field.reference:
        text += f"<br><small>matches {escape(field.reference.describe())}</small>"
    color = "rgb({},{},{})".format(*colors[own[0][1].label])
    scores = "".join(f"<td class=n>{'' if s is None else f'{s:.2f}'}" for s in (field.score, field.ocr_score))
    return (
        f"<tr{_attributes([field], own)}><td>"
        f'<svg class=dot viewBox="0 0 2 2"><circle cx=1 cy=1 r=1 fill="{color}" /></svg>'
        f"{escape(name.replace('_', ' '))}<td class=t>{text}{scores}</tr>"
    )


def _item_table(items: ItemTable, keyed: Sequence[KeyedEntity]) -> str:
    head = "".join(
        f"<th{' class=n' if number else ''}>{escape(column.replace('_', ' '))}"
        for number, column in enumerate(items.columns)
    )
    body = []
    for row, _ in items.rows:
        fields = [field for field in row.values() if isinstance(field, FieldOutput)]
        cells = "".join(
            f"<td{' class=n' if number else ''}>{escape(row[column].format()) if column in row else ''}"
            for number, column in enumerate(items.columns)
        )
        body.append(f"<tr{_attributes(fields, _entities_of(fields, keyed))}>{cells}</tr>")
    caption = f"<caption>{escape(items.name.replace('_', ' '))}</caption>"
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"


def _entities_of(fields: Sequence[FieldOutput], keyed: Sequence[KeyedEntity]) -> list[KeyedEntity]:
    """Return the entities that fields consist of."""
    words = {word for field in fields for word in field.words}
    return [(key, entity) for key, entity in keyed if words.issuperset(entity.words)]


def _attributes(fields: Sequence[FieldOutput], own: Sequence[KeyedEntity]) -> str:
    """Return the attributes of a row, which link it to the frames of its entities."""
    review = " class=review" if any(field.review for field in fields) else ""
    return f'{review} tabindex=0 data-e="{" ".join(key for key, _ in own)}"'


def _figure(page: Page, index: int, keyed: Sequence[KeyedEntity], colors: dict[str, Color]) -> str:
    rects = []
    for key, entity in keyed:
        color = "rgb({},{},{})".format(*colors[entity.label])
        review = " class=review" if entity.review else ""
        for x0, y0, x1, y1 in entity.boxes:
            rects.append(
                f'<rect{review} data-e="{key}" x="{x0:.6g}" y="{y0:.6g}" width="{x1 - x0:.6g}" '
                f'height="{y1 - y0:.6g}" fill="{color}" stroke="{color}"><title>{escape(entity.label)}: '
                f"{escape(entity.text)}</title></rect>"
            )
    text_source = f", text from {page.text_source}" if page.text_source else ""
    return (
        f'<figure><div><img alt="page {index + 1}" src="{data_url(page_canvas(page, 0.0).finish())}">'
        f'<svg viewBox="0 0 {page.width:.6g} {page.height:.6g}" preserveAspectRatio="none">{"".join(rects)}</svg></div>'
        f"<figcaption>page {index + 1}{escape(text_source)}</figcaption></figure>"
    )
