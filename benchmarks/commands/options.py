"""Options and documents that several commands use."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from formnet.document import Document

Repeats = Annotated[int, typer.Option(min=1, help="Number of measurements.")]
TestCorpus = Annotated[str, typer.Argument(metavar="CORPUS", help="Corpus of test documents.")]


def first_documents(corpus: str, count: int) -> "list[Document]":
    """Read the first documents of a corpus."""
    from itertools import islice

    from formnet.datasets import open_corpus

    return list(islice(open_corpus(corpus), count))
