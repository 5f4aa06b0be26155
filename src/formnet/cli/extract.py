"""`formnet extract`: files in, fields out."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from formnet.cli.figures import prepare
from formnet.cli.options import DayFirst, Ocr

if TYPE_CHECKING:
    from rich.text import Text

    from formnet.document import Document
    from formnet.extraction.extractor import Extractor


class Output(StrEnum):
    """How fields are told."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


def extract(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="PDFs, pictures, OCR output, or folders.")],
    model: Annotated[
        str, typer.Option(help="A shipped model's name, a folder that formnet train wrote, or a Hub repository.")
    ] = "receipts",
    ocr: Ocr = "auto",
    form: Annotated[Output | None, typer.Option("--format", help="A table on a terminal, else JSON.")] = None,
    output: Annotated[Path | None, typer.Option("--out", "-o", help="Write here instead of printing.")] = None,
    overlay: Annotated[Path | None, typer.Option(metavar="DIR", help="Draw the fields onto the pages.")] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Write one HTML file to look through.")] = None,
    min_score: Annotated[
        float, typer.Option(min=0, max=1, help="Fields less sure than this are marked for review.")
    ] = 0.0,
    day_first: DayFirst = None,
) -> None:
    """Read documents and give their fields; exit with 1 if some file could not be read."""
    prepare()
    from formnet.extraction.extractor import Extractor
    from formnet.extraction.output import Writer

    paths = list(_expand(files))
    if form is None:
        form = _by_name(output) or (Output.table if output is None and sys.stdout.isatty() else Output.json)
    if form == Output.table and output is not None:
        raise typer.BadParameter("a table is for terminals; write json, jsonl or csv to a file")
    extractor = Extractor.from_pretrained(model, ocr=ocr, day_first=day_first)
    failed: list[Path] = []
    kept: list[Document] = []
    names: dict[str, str] = {}
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", newline="")  # for programs, whatever this machine's language
    target = output.open("w", encoding="utf-8", newline="") if output else sys.stdout
    with target if output else nullcontext():
        writer = None if form == Output.table else Writer(target, form.value, min_score)
        for document in extractor.label(_read_all(paths, extractor, failed), chunk=_CHUNK):
            if writer:
                writer.write(document)
            else:
                _print(document, min_score)
            if overlay:
                _draw(document, overlay, min_score, names)
            if report:
                kept.append(document)
        if writer:
            writer.close()
    if report:
        from formnet.visualization.report import write_report

        write_report(kept, report, min_score, f"model {model}")
    if failed:
        typer.echo(f"formnet: {len(set(failed))} of {len(paths)} files could not be read, or only in part.", err=True)
        raise typer.Exit(1)


#: Documents read before the network looks at them: enough for batches, few enough to see progress.
_CHUNK = 16


def _read_all(paths: list[Path], extractor: "Extractor", failed: list[Path]) -> "Iterator[Document]":
    """Read file after file; what cannot be read is told and passed over."""
    from rich.console import Console
    from rich.progress import track

    from formnet.document import Document
    from formnet.errors import FormNetError
    from formnet.io.readers import read_each

    console = Console(stderr=True)
    shown = len(paths) > 1 and console.is_terminal
    for path in track(paths, "reading", console=console, transient=True) if shown else paths:
        try:
            for document in read_each(path, extractor.ocr):
                if isinstance(document, Document):
                    yield document
                else:
                    _tell(path, document, failed)
        except (FormNetError, OSError) as error:
            _tell(path, error, failed)


def _tell(path: Path, error: Exception, failed: list[Path]) -> None:
    failed.append(path)
    message = str(error)
    typer.echo(f"formnet: {message if str(path) in message else f'{path}: {message}'}", err=True)


def _expand(files: list[Path]) -> Iterator[Path]:
    """Give files as they are, and what a folder holds or a pattern finds, sorted; if there is none, it is a mistake."""
    from formnet.errors import DocumentError
    from formnet.io.readers import SUFFIXES, readable

    for file in files:
        if file.is_dir():
            found = readable(file)
        elif not file.exists() and not {"*", "?", "["}.isdisjoint(str(file)):
            found = sorted(Path(file.anchor).glob(str(file.relative_to(file.anchor))))
        else:
            found = [file]
        if not found:
            raise DocumentError(f"{file}: holds no file that can be read; known are {', '.join(SUFFIXES)}.")
        yield from found


def _by_name(output: Path | None) -> Output | None:
    suffix = output.suffix.lower().lstrip(".") if output else ""
    return Output(suffix) if suffix in ("json", "jsonl", "csv") else None


def _print(document: "Document", least: float) -> None:
    from rich.console import Console
    from rich.table import Table

    from formnet.extraction.output import needs_review, rows

    table = Table(title=_plain(document.id), title_justify="left", title_style="bold")
    for name in ("field", "text", "value"):
        table.add_column(name, overflow="fold")
    for name in ("page", "sure", "OCR"):
        table.add_column(name, justify="right")
    for entity, row in zip(document.entities, rows(document, least), strict=True):
        sure, ocr = ("" if score is None else f"{score:.2f}" for score in (entity.score, entity.ocr_score))
        review = needs_review(entity, least)
        value = f"{row[4]} ?" if row[5] else row[4]
        cells = (_plain(entity.label), _plain(entity.text), _plain(value), str(row[1]))
        table.add_row(*cells, f"{sure} ?" if review else sure, ocr, style="yellow" if review else None)
    if document.entities:
        Console().print(table)
    else:
        text_source = {page.text_source for page in document.pages if page.text_source}
        how = f", read by {', '.join(sorted(text_source))}" if text_source else ""
        Console().print(_plain(f"{document.id}: no field found among {document.num_words} words{how}."))


def _plain(text: str) -> "Text":
    """Keep what a document says from commanding the terminal."""
    from rich.text import Text

    return Text("".join(c if c.isprintable() else "\ufffd" for c in text))


def _draw(document: "Document", folder: Path, least: float, names: dict[str, str]) -> None:
    from formnet.visualization.overlay import save_overlays

    for file in save_overlays(document, folder, least, names):
        typer.echo(f"drawn: {file}", err=True)
