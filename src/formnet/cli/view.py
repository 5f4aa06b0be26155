"""`formnet view`: pictures."""

from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.options import CorpusSpec, OrderOption, ReadingOrder

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
    from formnet.corpora import open_corpus
    from formnet.errors import DocumentError
    from formnet.graph import page_graph
    from formnet.views.graph import draw_graph

    if out.suffix.lower() != ".png":
        raise typer.BadParameter(f"{out}: the name should end in .png")
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
