"""File wrapper that retries transient read errors of remote storage."""

import time
from collections.abc import Callable
from io import SEEK_CUR, SEEK_END, SEEK_SET, RawIOBase
from typing import Any, TypeVar

#: Seconds before each retry.
RETRY_DELAYS = (0.5, 2.0, 8.0)
#: Errors that a retry cannot fix.
_PERMANENT_ERRORS = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)

Result = TypeVar("Result")


class RetryingFile(RawIOBase):
    """A readable, seekable file that is reopened after a read error."""

    def __init__(self, open_file: Callable[[], Any]) -> None:
        super().__init__()
        self._open_file, self._position = open_file, 0
        self._file: Any = None
        self._retry(lambda _: None)  # raises immediately if the file does not exist

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Set the position; storage is accessed on the next read."""
        start = {SEEK_SET: lambda: 0, SEEK_CUR: lambda: self._position, SEEK_END: self._size}[whence]()
        self._position = max(start + offset, 0)
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read up to the length of the buffer, and return the number of bytes read."""

        def read(file: Any) -> bytes:
            file.seek(self._position)
            data: bytes = file.read(len(buffer))
            return data

        data = self._retry(read)
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

    def close(self) -> None:
        """Close the underlying file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        super().close()

    def _size(self) -> int:
        return int(self._retry(lambda file: file.size()))

    def _retry(self, operation: Callable[[Any], Result]) -> Result:
        """Run an operation on the file, reopening the file after each transient error."""
        for delay in RETRY_DELAYS:
            try:
                return self._run(operation)
            except _PERMANENT_ERRORS:
                raise
            except OSError:
                self._file = None
                time.sleep(delay)
        return self._run(operation)

    def _run(self, operation: Callable[[Any], Result]) -> Result:
        if self._file is None:
            self._file = self._open_file()
        return operation(self._file)
