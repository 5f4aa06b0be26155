"""`formnet view`: draw documents."""

from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.options import CorpusSpec, Ocr, OrderOption, ReadingOrder

app = typer.Typer(help="Draw images of documents.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Draw images of documents."""


@app.command()
def graph(
    corpus: CorpusSpec,
    document: Annotated[str | None, typer.Option(help="Document ID. Default: first document.")] = None,
    page: Annotated[int, typer.Option(min=1, help="Page number.")] = 1,
    out: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("graph.png"),
    order: OrderOption = ReadingOrder.given,
) -> None:
    """Draw a page's words and the edges of its β-skeleton, over the scan if there is one."""
    from formnet.datasets import open_corpus
    from formnet.encoding.graph import page_graph
    from formnet.errors import DocumentError
    from formnet.visualization.graph import draw_graph

    _check_png(out)
    opened = open_corpus(corpus, order.value)
    found = next((d for d in opened if document is None or d.id == document), None)
    if found is None:
        raise DocumentError(f"{corpus}: holds no document {document!r}. Omit --document to draw the first one.")
    if page > len(found.pages):
        raise DocumentError(f"{found.id}: no page {page}. The document has {len(found.pages)} pages.")
    chosen = found.pages[page - 1]
    edges = page_graph(chosen).edges
    draw_graph(chosen, edges).save(out)
    typer.echo(f"{found.id}, page {page}: {len(chosen.texts):,} words, {edges.shape[1] // 2:,} edges → {out}")


@app.command()
def attention(
    file: Annotated[Path, typer.Argument(help="Document: an image, a PDF, or a file of words and boxes.")],
    model: Annotated[list[str], typer.Option(help="Model to draw; repeat to compare several side by side.")],
    layer: Annotated[int, typer.Option(help="Layer index; -1 is the last layer.")] = -1,
    heads: Annotated[int, typer.Option(min=1, help="Number of heads to draw, those with the largest weights.")] = 4,
    page: Annotated[int, typer.Option(min=1, help="Page number.")] = 1,
    ocr: Ocr = "auto",
    out: Annotated[Path, typer.Option(help="PNG file to write.")] = Path("attention.png"),
) -> None:
    """Draw attention weights between words, one color per head, as in the paper's figure."""
    from dataclasses import replace

    from formnet.errors import DocumentError
    from formnet.extraction.extractor import Extractor
    from formnet.io.readers import read_one
    from formnet.visualization.attention import draw_attention, most_focused_heads, side_by_side

    _check_png(out)
    document = read_one(file, ocr)
    if page > len(document.pages):
        raise DocumentError(f"{file}: no page {page}. The document has {len(document.pages)} pages.")
    single_page = replace(document, pages=(document.pages[page - 1],), entities=(), links=())
    images = []
    for name in model:
        weights = Extractor.from_pretrained(name).attention(single_page, layer)
        images.append(draw_attention(single_page.pages[0], weights, most_focused_heads(weights, heads)))
    side_by_side(images).save(out)
    typer.echo(f"{file}, page {page}: {', '.join(model)} → {out}")


def _check_png(out: Path) -> None:
    if out.suffix.lower() != ".png":
        raise typer.BadParameter(f"{out}: not a PNG file. Use a name that ends in .png.")
