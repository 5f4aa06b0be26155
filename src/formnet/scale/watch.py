"""Watch a hot folder: extract the fields of new files, and keep tables of all results."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event
from typing import Literal, TextIO

from formnet.errors import DocumentError, FormNetError
from formnet.extraction.output import DocumentOutput
from formnet.extraction.schema import Schema
from formnet.extraction.tables import item_columns
from formnet.extraction.writers import CsvWriter, XlsxWriter
from formnet.io.writers import atomic_write
from formnet.scale.hot_folder import MAX_ATTEMPTS, HotFolder

#: Milliseconds between looks at the folder if nothing is reported, as on network drives.
_LOOK_MS = 500

TableFormat = Literal["csv", "xlsx"]
#: Returns the output of all documents in a file.
ExtractFunction = Callable[[Path], Sequence[DocumentOutput]]
#: Receives a file and what happened to it.
ReportFunction = Callable[[Path, str], None]


class Tables:
    """Tables of all results: `documents.csv` and `items.csv`, or `documents.xlsx`.

    They are rebuilt from the results at the start. Then rows are appended to CSV files; a spreadsheet is rewritten when
    no file is waiting.
    """

    def __init__(self, folder: HotFolder, schema: Schema, table_format: TableFormat) -> None:
        self.folder, self.schema, self.format = folder, schema, table_format
        self._stack = ExitStack()
        self._csv: CsvWriter | None = None
        self._is_stale = True

    def start(self) -> None:
        """Write the tables of the results so far."""
        if self.format == "xlsx":
            self.flush()
            return
        has_items = bool(item_columns(self.schema))
        with ExitStack() as parts:
            documents = self._open_part(parts, "documents.csv")
            writer = CsvWriter(documents, self.schema, self._open_part(parts, "items.csv") if has_items else None)
            for output in self.folder.read_results():
                writer.write_output(output)
        self._csv = CsvWriter(
            self._open("documents.csv"), self.schema, self._open("items.csv") if has_items else None, header=False
        )

    def add(self, outputs: Sequence[DocumentOutput]) -> None:
        """Add the documents of a file."""
        self._is_stale = True
        for output in outputs if self._csv is not None else ():
            assert self._csv is not None
            self._csv.write_output(output)

    def flush(self) -> None:
        """Rewrite the spreadsheet if results were added to it."""
        if self.format != "xlsx" or not self._is_stale:
            return
        with atomic_write(self.folder.outbox / "documents.xlsx") as part:
            writer = XlsxWriter(part, self.schema)
            for output in self.folder.read_results(skip_others=True):
                writer.write_output(output)
            writer.close()
        self._is_stale = False

    def close(self) -> None:
        """Close the files."""
        self.flush()
        self._stack.close()

    def _open(self, name: str) -> TextIO:
        file = self.folder.outbox / name
        return self._stack.enter_context(file.open("a", encoding="utf-8", newline=""))

    def _open_part(self, stack: ExitStack, name: str) -> TextIO:
        part = stack.enter_context(atomic_write(self.folder.outbox / name))
        return stack.enter_context(part.open("w", encoding="utf-8", newline=""))


def watch(
    folder: HotFolder,
    tables: Tables,
    extract: ExtractFunction,
    report: ReportFunction,
    stop: Event,
    *,
    once: bool = False,
    poll: bool = False,
) -> None:
    """Process the files of a hot folder until `stop` is set or, with `once`, until no file is left.

    Args:
        folder: The hot folder, which must be locked.
        tables: Tables that results are added to.
        extract: Function that reads a file and extracts its fields.
        report: Called for each file that was processed.
        stop: Event that ends the loop after the current file.
        once: Whether to return when no file is left.
        poll: Whether to look for changes instead of waiting for events, which network drives do not report.
    """
    tables.start()
    try:
        for path in folder.find_unfinished():
            if folder.has_result(path):
                report(folder.complete(path), "was finished before")
            else:
                _process(folder, tables, path, extract, report, stop)
        for _ in _changes(folder.inbox, stop, poll=poll):
            ready = folder.find_ready()
            for path in ready:
                if stop.is_set():
                    return
                try:
                    claimed = folder.claim(path)
                except DocumentError as error:
                    report(path, str(error))
                    continue
                if claimed is not None:
                    _process(folder, tables, claimed, extract, report, stop)
            tables.flush()
            if once and not ready and folder.is_idle:  # others may have come while these were processed
                return
    finally:
        tables.close()


def _changes(inbox: Path, stop: Event, *, poll: bool) -> Iterator[object]:
    """Yield when files change, and otherwise twice per second, because a file is ready some time after its change."""
    from watchfiles import watch as watch_files

    while not stop.is_set():
        with suppress(RuntimeError):  # watchfiles cannot report names that are not valid UTF-8
            yield from watch_files(
                inbox,
                watch_filter=None,
                debounce=_LOOK_MS,
                rust_timeout=_LOOK_MS,
                yield_on_timeout=True,
                stop_event=stop,
                recursive=False,
                force_polling=poll or None,
                raise_interrupt=False,
            )
        yield None
        stop.wait(_LOOK_MS / 1000)


def _process(
    folder: HotFolder, tables: Tables, path: Path, extract: ExtractFunction, report: ReportFunction, stop: Event
) -> None:
    """Extract the fields of a claimed file, and move it to `done` or `failed`."""
    if folder.count_attempt(path) > MAX_ATTEMPTS:
        reason = f"{path.name}: processing it ended {MAX_ATTEMPTS} times without a result. Check the file."
        report(folder.fail(path, reason), reason)
        return
    try:
        outputs = extract(path)
    except (FormNetError, OSError, MemoryError) as error:
        if stop.is_set():  # what ends this process may have ended the one that reads files; the next start continues
            folder.forget_attempts(path)
            return
        reason = str(error) or "reading it takes more memory than is available."
        reason = reason.replace(str(path), path.name)
        report(folder.fail(path, reason), reason)
        return
    folder.write_result(path, outputs)
    tables.add(outputs)
    report(folder.complete(path), f"{len(outputs)} document{'s' * (len(outputs) != 1)}")
