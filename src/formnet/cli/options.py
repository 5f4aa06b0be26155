"""Arguments and options that several commands share."""

from enum import StrEnum
from typing import Annotated

import typer

CorpusSpec = Annotated[
    str, typer.Argument(metavar="CORPUS", help="kind:path or kind:path@split, as in funsd:data/funsd@train.")
]
CorpusSpecs = Annotated[
    list[str],
    typer.Argument(metavar="CORPUS…", help="kind:path or kind:path@split, as in sroie:data/sroie@train."),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A shipped model's name, or a folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of whatever is random.")]


class ReadingOrder(StrEnum):
    """The order in which words are read."""

    given = "given"
    raster = "raster"
    shuffled = "shuffled"


OrderOption = Annotated[ReadingOrder, typer.Option(help="Reading order of each page's words.")]
