"""Progress of a bulk run: a bar on a terminal, otherwise a line every few seconds."""

from datetime import timedelta
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_SECONDS_BETWEEN_LINES = 10.0


class BulkProgress:
    """Counts of shards, documents and errors, with the throughput and the estimated remaining time."""

    def __init__(self, shards: int, *, shown: bool = True) -> None:
        self.shards, self.shown = shards, shown
        self.done = self.documents = self.errors = 0
        self.started: float | None = None  # start of the first shard, end of the last one
        self.ended = 0.0
        self.peak_memory_half_way: float | None = None
        self._last_line = perf_counter()
        self._console = Console(stderr=True)
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        if self.shown and self._console.is_terminal:
            text = TextColumn("parts  {task.fields[status]}")
            self._bar = Progress(BarColumn(), MofNCompleteColumn(), text, TimeElapsedColumn(), console=self._console)
            self._bar.add_task("", total=self.shards, status="starting")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar:
            self._bar.stop()

    @property
    def documents_per_second(self) -> float:
        """Documents per second, from the start of the first shard to the end of the last one."""
        return self.documents / max(self.ended - self.started, 1e-9) if self.started is not None else 0.0

    def add(self, documents: int, errors: int, seconds: float) -> None:
        """Count a shard that has just finished after a number of seconds."""
        now = self.ended = perf_counter()
        self.started = min(self.started or now, now - seconds)
        self.done += 1
        self.documents += documents
        self.errors += errors
        if self.done == (self.shards + 1) // 2:
            self.peak_memory_half_way = peak_memory_mb()
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=self.done, status=self._status())
        elif self.shown and now - self._last_line >= _SECONDS_BETWEEN_LINES:
            self._last_line = now
            print(f"{self.done:,} of {self.shards:,} parts, {self._status()}", file=self._console.file, flush=True)

    def _status(self) -> str:
        assert self.started is not None
        remaining = (self.ended - self.started) / self.done * (self.shards - self.done)
        counts = f"{self.documents:,} documents, {self.documents_per_second:,.1f}/s, {self.errors:,} errors"
        return f"{counts}, {timedelta(seconds=round(remaining))} left"


def peak_memory_mb() -> float | None:
    """Return the peak memory of this process in MiB, or None if not on Linux; getrusage would include the parent's."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:")), None)
