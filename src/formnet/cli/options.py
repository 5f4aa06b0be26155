"""Arguments and options that several commands share."""

import re
from enum import StrEnum
from typing import Annotated

import typer

_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "kib": 2**10, "mib": 2**20, "gib": 2**30} | {
    "kb": 10**3, "mb": 10**6, "gb": 10**9
}  # fmt: skip

CorpusSpec = Annotated[
    str, typer.Argument(metavar="CORPUS", help="kind:path or kind:path@split, as in funsd:data/funsd@train.")
]
CorpusSpecs = Annotated[
    list[str],
    typer.Argument(metavar="CORPUS…", help="kind:path or kind:path@split, as in sroie:data/sroie@train."),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="A shipped model's name, a folder, or a Hub repository.")]
Ocr = Annotated[
    str,
    typer.Option(
        help="For pages that are pictures: auto, rapidocr, tesseract (German: tesseract:deu), or yours as module:Class."
    ),
]
DayFirst = Annotated[
    bool | None,
    typer.Option("--day-first/--month-first", help="How to read 03/04/2019; else as the model knows it."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs instead of a table.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of whatever is random.")]


class ReadingOrder(StrEnum):
    """The order in which words are read."""

    given = "given"
    raster = "raster"
    shuffled = "shuffled"


OrderOption = Annotated[ReadingOrder, typer.Option(help="Reading order of each page's words.")]


def size(text: str) -> int:
    """Read a size as people write it.

    >>> size("20MiB"), size("1.5 MB"), size("4096")
    (20971520, 1500000, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]?i?b?)", text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise typer.BadParameter(f"{text!r} is no size; write it as 20MiB, 500kB or 4096.")
    return int(float(match[1]) * _UNITS[match[2]])
