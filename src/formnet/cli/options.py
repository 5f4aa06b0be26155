"""Arguments and options shared by several commands."""

import re
from enum import StrEnum
from pathlib import Path
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
TypedCorpora = Annotated[
    list[str],
    typer.Option(
        "--type",
        metavar="TYPE=CORPUS",
        help="Documents of a type, as in receipts=cord:data/cord@train; repeatable.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Name of a shipped model, folder, or hf://owner/name.")]
ModelOption = Annotated[
    str,
    typer.Option(
        help="auto (receipts or invoices, chosen per document), shipped model, folder written by formnet train, "
        "or hf://owner/name."
    ),
]
Ocr = Annotated[
    str,
    typer.Option(
        help="OCR engine for scanned pages: auto, rapidocr, tesseract, tesseract:deu for German, or module:Class."
    ),
]
MinScore = Annotated[float, typer.Option(min=0, max=1, help="Confidence below which a field is marked for review.")]
DayFirst = Annotated[
    bool | None,
    typer.Option("--day-first/--month-first", help="How to read 03/04/2019. Default: inferred from the document."),
]
References = Annotated[
    list[Path] | None,
    typer.Option(
        "--reference",
        metavar="FILE",
        help="CSV list that values are matched with; the first column is named after a field. Repeat for several.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Seed = Annotated[int, typer.Option(min=0, help="Random seed.")]


class ReadingOrder(StrEnum):
    """Reading orders of a page's words."""

    given = "given"
    raster = "raster"
    shuffled = "shuffled"


class ImageView(StrEnum):
    """Views of a page image."""

    upright = "upright"
    quarter = "90"
    half = "180"
    three_quarters = "270"
    tilted = "tilted"
    perspective = "perspective"


ImageFolder = Annotated[
    Path | None,
    typer.Option(
        exists=True,
        file_okay=False,
        help="Folder with page images named after document IDs. Default: those of the corpus.",
    ),
]
OrderOption = Annotated[ReadingOrder, typer.Option(help="Reading order of each page's words.")]


def split_types(options: list[str]) -> list[tuple[str, str]]:
    """Split options of the form TYPE=CORPUS into types and corpora."""
    pairs = []
    for option in options:
        name, separator, spec = option.partition("=")
        if not separator or not name:
            raise typer.BadParameter(f"{option!r} is not of the form TYPE=CORPUS, as in receipts=cord:data/cord@train.")
        pairs.append((name, spec))
    return pairs


def parse_size(text: str) -> int:
    """Parse a size in bytes.

    >>> parse_size("20MiB"), parse_size("1.5 MB"), parse_size("4096")
    (20971520, 1500000, 4096)
    """
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([kmg]?i?b?)", text.strip().lower())
    if match is None or match[2] not in _UNITS:
        raise typer.BadParameter(f"{text!r} is not a size. Write it as 20MiB, 500kB or 4096.")
    return int(float(match[1]) * _UNITS[match[2]])


#: Limits of commands that read files in a child process.
ReadTimeout = Annotated[float, typer.Option(min=0.1, help="Maximum seconds to read a document; with OCR, a page.")]
ReadMemory = Annotated[
    int, typer.Option(metavar="SIZE", parser=parse_size, help="Maximum memory for reading a document.")
]
