"""`formnet view`: pictures."""

from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.options import CorpusSpec, Ocr, OrderOption, ReadingOrder

app = typer.Typer(help="Draw pictures of documents.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Draw pictures of documents."""


@app.command()
def graph(
    corpus: CorpusSpec,
    document: Annotated[str | None, typer.Option(help="The document's id; without it, the first.")] = None,
    page: Annotated[int, typer.Option(min=1, help="Which page of it.")] = 1,
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("graph.png"),
    order: OrderOption = ReadingOrder.given,
) -> None:
    """Draw a page's words and the edges of its β-skeleton, over the scan where there is one."""
    from formnet.datasets import open_corpus
    from formnet.encoding.graph import page_graph
    from formnet.errors import DocumentError
    from formnet.visualization.graph import draw_graph

    _refuse_unless_png(out)
    opened = open_corpus(corpus, order.value)
    found = next((d for d in opened if document is None or d.id == document), None)
    if found is None:
        raise DocumentError(f"{corpus}: holds no document {document!r}.")
    if page > len(found.pages):
        raise DocumentError(f"{found.id}: has {len(found.pages)} pages, so no page {page}.")
    chosen = found.pages[page - 1]
    edges = page_graph(chosen).edges
    draw_graph(chosen, edges).save(out)
    typer.echo(f"{found.id}, page {page}: {len(chosen.texts):,} words, {edges.shape[1] // 2:,} edges → {out}")


@app.command()
def attention(
    file: Annotated[Path, typer.Argument(help="A document: a picture, a PDF, words and boxes.")],
    model: Annotated[list[str], typer.Option(help="Whose attention; give it again to see several side by side.")],
    layer: Annotated[int, typer.Option(help="Which layer; -1 is the last.")] = -1,
    heads: Annotated[int, typer.Option(min=1, help="How many heads: those that look most decidedly.")] = 4,
    page: Annotated[int, typer.Option(min=1, help="Which page of it.")] = 1,
    ocr: Ocr = "auto",
    out: Annotated[Path, typer.Option(help="The picture to write.")] = Path("attention.png"),
) -> None:
    """Draw where words look, a color a head, as in the paper's figure."""
    from dataclasses import replace

    from formnet.errors import DocumentError
    from formnet.extraction.extractor import Extractor
    from formnet.io.readers import read_one
    from formnet.visualization.attention import beside, clearest_heads, draw_attention

    _refuse_unless_png(out)
    document = read_one(file, ocr)
    if page > len(document.pages):
        raise DocumentError(f"{file}: has {len(document.pages)} pages, so no page {page}.")
    alone = replace(document, pages=(document.pages[page - 1],), entities=(), links=())
    pictures = []
    for name in model:
        weights = Extractor.from_pretrained(name).attention(alone, layer)
        pictures.append(draw_attention(alone.pages[0], weights, clearest_heads(weights, heads)))
    beside(pictures).save(out)
    typer.echo(f"{file}, page {page}: {', '.join(model)} → {out}")


def _refuse_unless_png(out: Path) -> None:
    if out.suffix.lower() != ".png":
        raise typer.BadParameter(f"{out}: the name should end in .png")
