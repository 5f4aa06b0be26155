"""`formnet watch`: extract the fields of files as they appear in a folder."""

import signal
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from formnet.cli.options import DayFirst, MinScore, ModelOption, Ocr, ReadMemory, ReadTimeout, References
from formnet.cli.results import configure_runtime
from formnet.errors import LimitError, SettingsError

if TYPE_CHECKING:
    from formnet.extraction.output import DocumentOutput

#: Documents that a file may hold.
MAX_DOCUMENTS = 1000


class TableOption(StrEnum):
    """Formats of the tables of all results."""

    csv = "csv"
    xlsx = "xlsx"


def watch(
    inbox: Annotated[Path, typer.Argument(metavar="IN", help="Folder to watch.")],
    outbox: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for results; created if it does not exist.")],
    model: ModelOption = "auto",
    ocr: Ocr = "auto",
    table: Annotated[TableOption, typer.Option(help="Format of the tables of all results.")] = TableOption.csv,
    settle: Annotated[
        float, typer.Option(min=0, help="Seconds without a change after which a file is complete.")
    ] = 2.0,
    once: Annotated[bool, typer.Option("--once", help="Process the files in the folder, and exit.")] = False,
    poll: Annotated[
        bool, typer.Option("--poll", help="Look for new files instead of waiting for events, for network drives.")
    ] = False,
    min_score: MinScore = 0.0,
    day_first: DayFirst = None,
    reference: References = None,
    timeout: ReadTimeout = 120,
    memory_per_document: ReadMemory = "2GiB",  # type: ignore[assignment] # the parser converts it
) -> None:
    """Extract the fields of each file that appears in a folder, once.

    Results are JSON files and tables in OUT. Files are moved to IN/done, or to IN/failed with the reason.
    """
    configure_runtime()
    try:
        import watchfiles  # noqa: F401
    except ImportError as error:
        raise SettingsError("watching a folder needs another package. Run pip install 'formnet[watch]'.") from error
    from formnet.document import Document
    from formnet.extraction.writers import XlsxWriter
    from formnet.io.isolation import IsolatedReader, IsolationLimits
    from formnet.scale.hot_folder import HotFolder
    from formnet.scale.watch import Tables
    from formnet.scale.watch import watch as watch_folder

    if table == TableOption.xlsx:
        XlsxWriter.check_installed()
    folder = HotFolder(inbox, outbox, settle)
    stop = Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with folder.lock(), IsolatedReader(ocr, isolation=IsolationLimits(timeout, memory_per_document)) as reader:
        from formnet.extraction.auto import load_extractor
        from formnet.extraction.output import to_output

        extractor = load_extractor(model, min_score=min_score, day_first=day_first, references=reference or ())

        def extract(path: Path) -> "list[DocumentOutput]":
            documents: list[Document] = []
            for document in reader.read_each(path):
                if not isinstance(document, Document):
                    raise document
                extractor.count_tokens(document)  # raises if the document is too long
                if len(documents) == MAX_DOCUMENTS:
                    raise LimitError(f"{path}: more than {MAX_DOCUMENTS:,} documents. Use formnet bulk.")
                name = path.name if document.id == str(path) else f"{path.name}#{document.id}"
                documents.append(replace(document, id=name.replace(str(path), "")))
            return [to_output(document, extractor.schema) for document in extractor.annotate(documents)]

        typer.echo(f"watching {inbox} with model {model}; stop with Ctrl-C", err=True)
        watch_folder(
            folder,
            Tables(folder, extractor.schema, table.value),
            extract,
            lambda path, message: typer.echo(f"{path}: {message.removeprefix(f'{path.name}: ')}"),
            stop,
            once=once,
            poll=poll,
        )
