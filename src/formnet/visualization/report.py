"""A page to look through what was found: one file of HTML that needs nothing else, fields sorted by doubt."""

from collections.abc import Sequence
from html import escape
from importlib.resources import files
from pathlib import Path

from formnet.document import Document, Entity, Page
from formnet.extraction.output import entity_answer, is_ambiguous, needs_review, written
from formnet.io.images import data_url
from formnet.io.writers import whole_file
from formnet.visualization.canvas import page_canvas
from formnet.visualization.captions import Color
from formnet.visualization.overlay import colors_of

_ASSETS = files(__package__)


def write_report(documents: Sequence[Document], file: Path, least: float = 0.0, model: str = "") -> None:
    """Write documents with what was found in them."""
    labels = colors_of(entity.label for document in documents for entity in document.entities)
    doubtful = sum(needs_review(entity, least) for document in documents for entity in document.entities)
    total = sum(len(document.entities) for document in documents)
    about = f"{_count(len(documents), 'document')}, {_count(total, 'field')}"
    about += f", {doubtful} to review" if least else ""
    head = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; img-src data:; "
        "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">",
        f"<title>FormNet: {escape(about)}</title><style>{_asset('report.css')}</style>",
        f"<header><h1>{escape(about)}</h1><p>{escape(model)}</p></header>",
    ]
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as part, part.open("w", encoding="utf-8") as out:
        out.writelines(f"{line}\n" for line in head)
        for number, document in enumerate(documents):  # one document's pictures in memory at a time
            out.write(_section(document, number, labels, least) + "\n")
        out.write(f"<script>{_asset('report.js')}</script></html>\n")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _asset(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


def _section(document: Document, number: int, colors: dict[str, Color], least: float) -> str:
    names = {id(entity): f"{number}-{i}" for i, entity in enumerate(document.entities)}
    figures = []
    for place, page in enumerate(document.pages):
        found = [entity for entity in document.entities if entity.page == place]
        figures.append(_figure(page, place, found, names, colors, least))
    by_doubt = sorted(document.entities, key=lambda entity: entity.score or 0.0)
    rows = "".join(_row(entity, names[id(entity)], colors, least) for entity in by_doubt)
    table = (
        "<table><thead><tr><th>field<th>text<th>sure<th>OCR</tr></thead><tbody>" + rows + "</tbody></table>"
        if rows
        else "<p>Nothing was found.</p>"
    )
    return (
        f"<section><h2>{escape(document.id)}</h2><div>{''.join(figures)}</div><div class=fields>{table}</div></section>"
    )


def _figure(
    page: Page, place: int, found: Sequence[Entity], names: dict[int, str], colors: dict[str, Color], least: float
) -> str:
    rects = []
    for entity in found:
        color = "rgb({},{},{})".format(*colors[entity.label])
        doubt = " class=doubt" if needs_review(entity, least) else ""
        for x0, y0, x1, y1 in entity.boxes:
            rects.append(
                f'<rect{doubt} data-e="{names[id(entity)]}" x="{x0:.6g}" y="{y0:.6g}" width="{x1 - x0:.6g}" '
                f'height="{y1 - y0:.6g}" fill="{color}" stroke="{color}"><title>{escape(entity.label)}: '
                f"{escape(entity.text)}</title></rect>"
            )
    text_source = f", read by {page.text_source}" if page.text_source else ""
    return (
        f'<figure><div><img alt="page {place + 1}" src="{data_url(page_canvas(page, 0.0).finish())}">'
        f'<svg viewBox="0 0 {page.width:.6g} {page.height:.6g}" preserveAspectRatio="none">{"".join(rects)}</svg></div>'
        f"<figcaption>page {place + 1}{escape(text_source)}</figcaption></figure>"
    )


def _row(entity: Entity, name: str, colors: dict[str, Color], least: float) -> str:
    told = entity_answer(entity, least)
    value = written(told["value"])
    value += " ?" if is_ambiguous(told["value"]) else ""
    said = f"<br><small>{escape(value)}</small>" if value else ""
    color = "rgb({},{},{})".format(*colors[entity.label])
    doubt = " class=doubt" if told["review"] else ""
    scores = "".join(f"<td class=n>{'' if s is None else f'{s:.2f}'}" for s in (entity.score, entity.ocr_score))
    return (
        f'<tr{doubt} tabindex=0 data-e="{name}"><td><span class=dot style="background:{color}"></span>'
        f"{escape(entity.label)}<td class=t>{escape(entity.text)}{said}{scores}</tr>"
    )
