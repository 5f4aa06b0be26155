"""`formnet extract`: files in, fields out."""

import sys
from collections.abc import Iterator
from contextlib import nullcontext
from enum import StrEnum
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from formnet.cli.options import DayFirst, MinScore, Ocr
from formnet.cli.results import configure_runtime

if TYPE_CHECKING:
    from rich.text import Text

    from formnet.document import Document
    from formnet.extraction.extractor import Extractor

#: Documents read before they are scored: enough for batches, few enough to show progress.
_CHUNK = 16


class OutputFormat(StrEnum):
    """Output formats of `formnet extract`."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"


def extract(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="PDFs, images, OCR output, or folders of them.")],
    model: Annotated[
        str, typer.Option(help="Name of a shipped model, folder written by formnet train, or Hub repository.")
    ] = "receipts",
    ocr: Ocr = "auto",
    output_format: Annotated[
        OutputFormat | None,
        typer.Option(
            "--format", help="Output format. Default: by the suffix of --out, a table on a terminal, else json."
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--out", "-o", help="Output file. Default: standard output.")] = None,
    overlay: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for page images with the fields drawn on them.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="HTML report to write.")] = None,
    min_score: MinScore = 0.0,
    day_first: DayFirst = None,
) -> None:
    """Extract fields from documents. Exits with status 1 if a file could not be read."""
    configure_runtime()
    from formnet.extraction.extractor import Extractor
    from formnet.extraction.output import OutputWriter

    paths = list(_expand(files))
    if output_format is None:
        is_terminal = output is None and sys.stdout.isatty()
        output_format = _format_of(output) or (OutputFormat.table if is_terminal else OutputFormat.json)
    if output_format == OutputFormat.table and output is not None:
        raise typer.BadParameter("a table can only be printed. Use json, jsonl or csv with --out")
    extractor = Extractor.from_pretrained(model, ocr=ocr, min_score=min_score, day_first=day_first)
    failed: list[Path] = []
    reported: list[Document] = []
    overlay_names: dict[str, str] = {}
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", newline="")  # independent of the locale
    target = output.open("w", encoding="utf-8", newline="") if output else sys.stdout
    with target if output else nullcontext():
        writer = None if output_format == OutputFormat.table else OutputWriter(target, output_format.value)
        for document in extractor.annotate(_read_files(paths, extractor, failed), chunk=_CHUNK):
            if writer:
                writer.write(document)
            else:
                _print_table(document)
            if overlay:
                _draw_overlays(document, overlay, overlay_names)
            if report:
                reported.append(document)
        if writer:
            writer.close()
    if report:
        from formnet.visualization.report import write_report

        write_report(reported, report, f"model {model}")
    if failed:
        typer.echo(f"formnet: {len(set(failed))} of {len(paths)} files could not be read completely.", err=True)
        raise typer.Exit(1)


def _read_files(paths: list[Path], extractor: "Extractor", failed: list[Path]) -> "Iterator[Document]":
    """Yield the documents of all files; report and skip what cannot be read."""
    from rich.console import Console
    from rich.progress import track

    from formnet.document import Document
    from formnet.errors import FormNetError
    from formnet.io.readers import read_each

    console = Console(stderr=True)
    show_progress = len(paths) > 1 and console.is_terminal
    for path in track(paths, "reading", console=console, transient=True) if show_progress else paths:
        try:
            for document in read_each(path, extractor.ocr, extractor.limits):
                if isinstance(document, Document):
                    yield document
                else:
                    _report_error(path, document, failed)
        except (FormNetError, OSError) as error:
            _report_error(path, error, failed)


def _report_error(path: Path, error: Exception, failed: list[Path]) -> None:
    failed.append(path)
    message = str(error)
    typer.echo(f"formnet: {message if str(path) in message else f'{path}: {message}'}", err=True)


def _expand(files: list[Path]) -> Iterator[Path]:
    """Expand folders and glob patterns, in sorted order; raise if one contains no readable file."""
    from formnet.errors import DocumentError
    from formnet.io.file_types import SUFFIXES
    from formnet.io.readers import find_files

    for file in files:
        if file.is_dir():
            matches = find_files(file)
        elif not file.exists() and not {"*", "?", "["}.isdisjoint(str(file)):
            matches = sorted(Path(file.anchor).glob(str(file.relative_to(file.anchor))))
        else:
            matches = [file]
        if not matches:
            raise DocumentError(f"{file}: contains no readable file. Supported suffixes: {', '.join(SUFFIXES)}.")
        yield from matches


def _format_of(output: Path | None) -> OutputFormat | None:
    suffix = output.suffix.lower().lstrip(".") if output else ""
    return OutputFormat(suffix) if suffix in ("json", "jsonl", "csv") else None


def _print_table(document: "Document") -> None:
    from rich.console import Console
    from rich.table import Table

    from formnet.extraction.output import format_value, to_output

    table = Table(title=_printable(document.id), title_justify="left", title_style="bold")
    for name in ("field", "text", "value"):
        table.add_column(name, overflow="fold")
    for name in ("page", "confidence", "OCR"):
        table.add_column(name, justify="right")
    for entity in to_output(document).entities:
        confidence, ocr = ("" if score is None else f"{score:.2f}" for score in (entity.score, entity.ocr_score))
        value = format_value(entity.value) + (" ?" if entity.value is not None and entity.value.ambiguous else "")
        cells = (_printable(entity.label), _printable(entity.text), _printable(value), str(entity.page))
        style = "yellow" if entity.review else None
        table.add_row(*cells, f"{confidence} ?" if entity.review else confidence, ocr, style=style)
    if document.entities:
        Console().print(table)
    else:
        sources = sorted({page.text_source for page in document.pages if page.text_source})
        source = f" (text from {', '.join(sources)})" if sources else ""
        Console().print(_printable(f"{document.id}: no fields found in {document.num_words} words{source}."))


def _printable(text: str) -> "Text":
    """Replace control characters, which could drive the terminal."""
    from rich.text import Text

    return Text("".join(c if c.isprintable() else "\ufffd" for c in text))


def _draw_overlays(document: "Document", folder: Path, names: dict[str, str]) -> None:
    from formnet.visualization.overlay import save_overlays

    for file in save_overlays(document, folder, names):
        typer.echo(f"overlay: {file}", err=True)
