"""`formnet extract`: files in, fields out."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from formnet.cli.options import DayFirst, MinScore, ModelOption, Ocr, ReadMemory, ReadTimeout, References
from formnet.cli.results import configure_runtime
from formnet.cli.terminal import print_document
from formnet.errors import DocumentError, SettingsError

if TYPE_CHECKING:
    from formnet.document import Document
    from formnet.extraction.schema import Schema
    from formnet.extraction.writers import CsvWriter, JsonWriter, XlsxWriter

    ReadFunction = Callable[[Path], Iterator[Document | DocumentError]]

#: Documents read before they are scored: enough for batches, few enough to show progress.
_CHUNK = 16


class OutputFormat(StrEnum):
    """Output formats of `formnet extract`."""

    table = "table"
    json = "json"
    jsonl = "jsonl"
    csv = "csv"
    xlsx = "xlsx"


def extract(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="PDFs, images, OCR output, or folders of them.")],
    model: ModelOption = "auto",
    ocr: Ocr = "auto",
    output_format: Annotated[
        OutputFormat | None,
        typer.Option(
            "--format",
            help="Output format; csv has one row per document. Default: by the suffix of --out, a table on a terminal, "
            "else json.",
        ),
    ] = None,
    output: Annotated[Path | None, typer.Option("--out", "-o", help="Output file. Default: standard output.")] = None,
    values: Annotated[
        bool, typer.Option("--values", help="Write only the values of fields, without text, scores and boxes.")
    ] = False,
    items: Annotated[
        Path | None, typer.Option(metavar="FILE", help="With --format csv, another file with one row per item.")
    ] = None,
    overlay: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for page images with the fields drawn on them.")
    ] = None,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="HTML report to write.")] = None,
    min_score: MinScore = 0.0,
    day_first: DayFirst = None,
    reference: References = None,
    isolation: Annotated[
        bool, typer.Option(help="Read files in a child process, with limits on time and memory.")
    ] = True,
    timeout: ReadTimeout = 120,
    memory_per_document: ReadMemory = "2GiB",  # type: ignore[assignment] # the parser converts it
) -> None:
    """Extract fields from documents. Exits with status 1 if a file could not be read."""
    configure_runtime()
    paths = list(_expand(files))
    if not any(path.exists() for path in paths):  # before the model is loaded
        raise DocumentError(f"{paths[0]}: no such file.")
    if output_format is None:
        prints_table = output is None and not values and sys.stdout.isatty()
        output_format = _format_of(output) or (OutputFormat.table if prints_table else OutputFormat.json)
    if output_format == OutputFormat.table and output is not None:
        raise typer.BadParameter("a table can only be printed. Use json, jsonl, csv or xlsx with --out")
    if output_format == OutputFormat.xlsx and output is None:
        raise typer.BadParameter("a spreadsheet needs --out")
    if output_format == OutputFormat.xlsx:
        from formnet.extraction.writers import XlsxWriter

        XlsxWriter.check_installed()
    if items and output_format != OutputFormat.csv:
        raise typer.BadParameter("--items needs --format csv")
    if values and output_format not in (OutputFormat.json, OutputFormat.jsonl):
        raise typer.BadParameter("--values needs --format json or jsonl")
    for file in filter(None, (output, items, report)):
        _check_output(file)
    failed: list[Path] = []
    reported: list[Document] = []
    overlay_names: dict[str, str] = {}
    if isinstance(sys.stdout, TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", newline="")  # independent of the locale
    # The reader starts a process, which imports its libraries while the model is loaded.
    with ExitStack() as stack:
        read = stack.enter_context(_open_reader(ocr, isolation, timeout, memory_per_document))
        from formnet.extraction.auto import load_extractor

        extractor = load_extractor(model, min_score=min_score, day_first=day_first, references=reference or ())
        writer = _open_writer(stack, output_format, extractor.schema, output, items, values=values)
        documents = _read_files(paths, read, extractor.count_tokens, failed)
        for document in extractor.annotate(documents, chunk=_CHUNK):
            if writer:
                writer.write(document)
            else:
                print_document(document, extractor.schema)
            if overlay:
                _draw_overlays(document, overlay, overlay_names)
            if report:
                reported.append(document)
        if writer:
            writer.close()
    if report:
        from formnet.visualization.report import write_report

        write_report(reported, report, extractor.schema, f"model {model}")
    if failed:
        typer.echo(f"formnet: {len(set(failed))} of {len(paths)} files could not be read completely.", err=True)
        raise typer.Exit(1)


def _check_output(file: Path) -> None:
    """Raise if a file cannot be written, before anything is read."""
    if not file.parent.is_dir():
        raise SettingsError(f"{file}: the folder does not exist. Create it first.")
    if file.is_dir():
        raise SettingsError(f"{file}: is a folder. Choose a file name.")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise SettingsError(f"{file}: cannot be written. Check the permissions.")


def _open_writer(
    stack: ExitStack,
    output_format: OutputFormat,
    schema: "Schema",
    output: Path | None,
    items: Path | None,
    *,
    values: bool,
) -> "JsonWriter | CsvWriter | XlsxWriter | None":
    """Open the output files; None for a table, which is printed."""
    from formnet.extraction.writers import CsvWriter, JsonWriter, XlsxWriter

    def open_text(path: Path) -> TextIO:
        return stack.enter_context(path.open("w", encoding="utf-8", newline=""))

    if output_format == OutputFormat.table:
        return None
    if output_format == OutputFormat.xlsx:
        assert output is not None
        return XlsxWriter(output, schema)
    target = sys.stdout if output is None else open_text(output)
    if output_format == OutputFormat.csv:
        return CsvWriter(target, schema, None if items is None else open_text(items))
    return JsonWriter(target, schema, lines=output_format == OutputFormat.jsonl, plain=values)


@contextmanager
def _open_reader(ocr: str, isolation: bool, timeout: float, memory: int) -> "Iterator[ReadFunction]":
    """Yield the function that reads a file: in a child process, or in this one."""
    from formnet.io.isolation import IsolatedReader, IsolationLimits
    from formnet.io.readers import read_each

    if isolation:
        with IsolatedReader(ocr, isolation=IsolationLimits(timeout, memory)) as reader:
            yield reader.read_each
    else:
        yield partial(read_each, ocr=ocr)


def _read_files(
    paths: list[Path], read: "ReadFunction", check: "Callable[[Document], object]", failed: list[Path]
) -> "Iterator[Document]":
    """Yield the documents of all files; report and skip those that cannot be read or do not pass a check."""
    from rich.console import Console
    from rich.progress import track

    from formnet.document import Document
    from formnet.errors import FormNetError

    console = Console(stderr=True)
    show_progress = len(paths) > 1 and console.is_terminal
    for path in track(paths, "reading", console=console, transient=True) if show_progress else paths:
        try:
            for document in read(path):
                try:
                    if not isinstance(document, Document):
                        raise document
                    check(document)
                except DocumentError as error:
                    _report_error(path, error, failed)
                else:
                    yield document
        except (FormNetError, OSError) as error:
            _report_error(path, error, failed)
        except MemoryError:
            _report_error(path, FormNetError("reading it takes more memory than is available."), failed)


def _report_error(path: Path, error: Exception, failed: list[Path]) -> None:
    failed.append(path)
    message = str(error)
    typer.echo(f"formnet: {message if str(path) in message else f'{path}: {message}'}", err=True)


def _expand(files: list[Path]) -> Iterator[Path]:
    """Expand folders and glob patterns, in sorted order; raise if one contains no readable file."""
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
    return OutputFormat(suffix) if suffix in ("json", "jsonl", "csv", "xlsx") else None


def _draw_overlays(document: "Document", folder: Path, names: dict[str, str]) -> None:
    from formnet.visualization.overlay import save_overlays

    for file in save_overlays(document, folder, names):
        typer.echo(f"overlay: {file}", err=True)
