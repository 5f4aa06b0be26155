"""What a person sees of a bulk run: a bar on a terminal, a plain line now and then in a log."""

from datetime import timedelta
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_SECONDS_BETWEEN_LINES = 10.0


class BulkProgress:
    """Counts shards, documents and errors, and tells how fast it goes and how long it will take."""

    def __init__(self, shards: int, *, shown: bool = True) -> None:
        self.shards, self.shown = shards, shown
        self.done = self.documents = self.errors = 0
        self.begun: float | None = None  # when the first shard was begun, and the last one ended
        self.ended = 0.0
        self.memory_half_way: float | None = None
        self._told = perf_counter()
        self._console = Console(stderr=True)
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self.shown and self._console.is_terminal:
            columns = (BarColumn(), MofNCompleteColumn(), TextColumn("parts  {task.fields[told]}"), TimeElapsedColumn())
            self._bar = Progress(*columns, console=self._console)
            self._bar.add_task("", total=self.shards, told="starting")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    @property
    def per_second(self) -> float:
        """Documents a second from the beginning of the first shard to the end of the last."""
        return self.documents / max(self.ended - self.begun, 1e-9) if self.begun is not None else 0.0

    def add(self, documents: int, errors: int, seconds: float) -> None:
        """Count a shard that took so long and is done just now."""
        now = self.ended = perf_counter()
        self.begun = min(self.begun or now, now - seconds)
        self.done += 1
        self.documents += documents
        self.errors += errors
        if self.done == (self.shards + 1) // 2:
            self.memory_half_way = most_memory()
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=self.done, told=self._line())
        elif self.shown and now - self._told >= _SECONDS_BETWEEN_LINES:
            self._told = now
            print(f"{self.done:,} of {self.shards:,} parts, {self._line()}", file=self._console.file, flush=True)

    def _line(self) -> str:
        assert self.begun is not None
        left = (self.ended - self.begun) / self.done * (self.shards - self.done)
        counted = f"{self.documents:,} documents, {self.per_second:,.1f}/s, {self.errors:,} errors"
        return f"{counted}, {timedelta(seconds=round(left))} left"


def most_memory() -> float | None:
    """Give the most memory that this process held, in megabytes, on Linux; getrusage would count its parent's."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)
