"""A hot folder: each file that appears in it is processed once, and moved to `done` or `failed`.

A file is claimed by moving it to the hidden folder `.working`, which is atomic, and keeps this name. Its result is a
JSON file of the same name in the output folder, written atomically. Then it is moved to `done`. A process that is
killed leaves files in `.working`: those with a result are moved to `done`, the others are processed again.
"""

import json
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import NamedTuple

from formnet.document.document import replace_surrogates
from formnet.errors import DocumentError, SettingsError
from formnet.extraction.output import DocumentOutput, parse_output
from formnet.io.writers import atomic_write

#: Suffixes of files that are still being written by browsers, scanners and copy programs.
PARTIAL_SUFFIXES = (".part", ".partial", ".tmp", ".crdownload", ".download", ".swp", "~")
#: Processes that may end while they process a file, before it counts as failed.
MAX_ATTEMPTS = 3


#: Suffix of the file with the reason why a file failed.
REASON_SUFFIX = ".txt"
#: Maximum bytes of the name of a claimed file, so that suffixes fit.
MAX_NAME_BYTES = 150


class _Observation(NamedTuple):
    """The size and time of a file, and since when it has them."""

    size: int
    modified: int
    since: float


class HotFolder:
    """Files in `inbox`, which are moved to its folders `done` and `failed`, and results in `outbox`."""

    def __init__(self, inbox: Path, outbox: Path, settle: float = 2.0) -> None:
        """Open a hot folder; a file is complete if it has not changed for `settle` seconds."""
        if not inbox.is_dir():
            raise SettingsError(f"{inbox}: is not a folder. Create it first.")
        if outbox.resolve().is_relative_to(inbox.resolve()):
            raise SettingsError(f"{outbox}: lies in {inbox}, so results would be processed. Use another folder.")
        self.inbox, self.outbox, self.settle = inbox, outbox, settle
        self.working, self.done, self.failed = inbox / ".working", inbox / "done", inbox / "failed"
        for folder in (outbox, self.working, self.done, self.failed):
            if folder.is_symlink() and folder != outbox:
                raise SettingsError(f"{folder}: is a symbolic link. Remove it.")
            folder.mkdir(mode=0o700 if folder == self.working else 0o777, parents=True, exist_ok=True)
        self._observed: dict[Path, _Observation] = {}
        self._blocked: dict[Path, _Observation] = {}

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Raise `SettingsError` if another process uses the folder; the lock ends with the process."""
        with (self.working / ".lock").open("wb") as file:
            if sys.platform != "win32":
                import fcntl

                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError as error:
                    raise SettingsError(f"{self.inbox}: another process watches it. Stop it first.") from error
                except OSError as error:
                    reason = f"cannot be locked: {error.strerror}"
                    raise SettingsError(f"{self.inbox}: {reason}. Use a folder on another file system.") from error
            yield

    def find_ready(self) -> list[Path]:
        """Return the files that have not changed for some time, oldest first; others become ready later."""
        now = monotonic()
        observed: dict[Path, _Observation] = {}
        ready: list[tuple[int, Path]] = []
        for entry in os.scandir(self.inbox):
            path = Path(entry.path)
            if entry.name.startswith(".") or entry.name.lower().endswith(PARTIAL_SUFFIXES):
                continue
            try:
                if not entry.is_file(follow_symlinks=False):
                    continue
                status = path.stat()
            except OSError:  # it was moved or removed meanwhile
                continue
            before = self._observed.get(path)
            is_same = before is not None and (before.size, before.modified) == (status.st_size, status.st_mtime_ns)
            observed[path] = before if before and is_same else _Observation(status.st_size, status.st_mtime_ns, now)
            if self._blocked.get(path) == observed[path]:
                continue
            if now - observed[path].since >= self.settle:
                ready.append((status.st_mtime_ns, path))
        self._observed = observed
        return [path for _, path in sorted(ready)]

    @property
    def is_idle(self) -> bool:
        """Whether no file was waiting in the folder when it was last looked at."""
        return self._observed.keys() <= self._blocked.keys()

    def claim(self, path: Path) -> Path | None:
        """Move a file to `.working` under a name that no other file has; None if it is gone or has changed meanwhile.

        Raise `DocumentError` if it cannot be moved, and leave it alone from then on.
        """
        expected = self._observed.pop(path, None)
        target = self.working / self._free_name(_safe_name(path.name))
        try:
            path.rename(target)
        except FileNotFoundError:
            return None
        except OSError as error:
            if expected is not None:
                self._observed[path] = self._blocked[path] = expected
            raise DocumentError(f"{path.name}: cannot be moved: {error.strerror}. Check the permissions.") from error
        status = target.lstat()
        is_same = expected is None or (expected.size, expected.modified) == (status.st_size, status.st_mtime_ns)
        if not stat.S_ISREG(status.st_mode) or not is_same:  # replaced or written to since it was observed
            target.rename(path)
            return None
        return target

    def _free_name(self, name: str) -> str:
        stem, suffix = os.path.splitext(name)  # noqa: PTH122 - a name may be all suffix
        number, candidate = 1, name
        while self._is_used(candidate):
            number += 1
            candidate = f"{stem}-{number}{suffix}"
        return candidate

    def _is_used(self, name: str) -> bool:
        folders = (self.working, self.done, self.failed)
        files = [self.result_file(name), self.failed / f"{name}{REASON_SUFFIX}", *(folder / name for folder in folders)]
        return any(os.path.lexists(file) for file in files)

    def find_unfinished(self) -> list[Path]:
        """Return the claimed files that an earlier process left."""
        files = (path for path in self.working.iterdir() if not path.name.startswith("."))
        return sorted(path for path in files if stat.S_ISREG(path.lstat().st_mode))

    def count_attempt(self, path: Path) -> int:
        """Record that a claimed file is being processed; return how many times it has been, this one included."""
        file = self._attempts_file(path)
        attempts = (int(file.read_text() or 0) if file.exists() else 0) + 1
        file.write_text(str(attempts))
        return attempts

    def forget_attempts(self, path: Path) -> None:
        """Forget how many times a claimed file has been processed."""
        self._attempts_file(path).unlink(missing_ok=True)

    def _attempts_file(self, path: Path) -> Path:
        return self.working / f".{path.name}.attempts"

    def result_file(self, name: str) -> Path:
        """Return the file for the result of a claimed file."""
        return self.outbox / f"{name}.json"

    def write_result(self, path: Path, outputs: Sequence[DocumentOutput]) -> None:
        """Write the result of a claimed file."""
        with atomic_write(self.result_file(path.name)) as part:
            data = [output.model_dump(mode="json") for output in outputs]
            part.write_text(json.dumps(data, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")

    def read_results(self, *, skip_others: bool = False) -> Iterator[DocumentOutput]:
        """Yield the documents of all results, oldest first; other JSON files are skipped or raise `SettingsError`."""
        times = []
        for file in self.outbox.glob("*.json"):
            with suppress(FileNotFoundError):  # a consumer took it away
                times.append((file.stat().st_mtime_ns, file))
        yield from self._parse_results([file for _, file in sorted(times)], skip_others=skip_others)

    def _parse_results(self, files: Sequence[Path], *, skip_others: bool) -> Iterator[DocumentOutput]:
        for file in files:
            try:
                outputs = [parse_output(data) for data in json.loads(file.read_text(encoding="utf-8"))]
            except FileNotFoundError:  # a consumer took it away
                continue
            except (ValueError, TypeError, LookupError) as error:
                if skip_others:
                    continue
                raise SettingsError(f"{file}: is not a result of this command. Move it to another folder.") from error
            yield from outputs

    def has_result(self, path: Path) -> bool:
        """Return whether a claimed file has a result."""
        return self.result_file(path.name).exists()

    def complete(self, path: Path) -> Path:
        """Move a claimed file to `done`."""
        return self._move(path, self.done)

    def fail(self, path: Path, reason: str) -> Path:
        """Move a claimed file to `failed`, with the reason in a text file next to it."""
        with atomic_write(self.failed / f"{path.name}{REASON_SUFFIX}") as part:
            part.write_text(reason + "\n", encoding="utf-8", errors="replace")
        return self._move(path, self.failed)

    def _move(self, path: Path, folder: Path) -> Path:
        target = folder / path.name
        path.replace(target)
        self.forget_attempts(path)
        return target


def _safe_name(name: str) -> str:
    """Return a name of valid characters that is short enough for suffixes.

    >>> len(_safe_name("发票" * 60 + ".pdf").encode()) <= MAX_NAME_BYTES
    True
    """
    stem, suffix = os.path.splitext(replace_surrogates(name))  # noqa: PTH122
    suffix = suffix if len(suffix.encode()) <= 20 else ""
    limit = MAX_NAME_BYTES - len(suffix.encode())
    return stem.encode()[:limit].decode(errors="ignore") + suffix
