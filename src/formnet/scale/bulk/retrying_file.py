"""Files of stores that stumble: what could not be read is asked for again, from where reading stopped."""

import time
from collections.abc import Callable
from io import SEEK_CUR, SEEK_END, SEEK_SET, RawIOBase
from typing import Any, TypeVar

#: Seconds to wait before a store that failed is asked again.
PAUSES = (0.5, 2.0, 8.0)
#: What will not pass by waiting.
_FOR_GOOD = (FileNotFoundError, PermissionError, IsADirectoryError, NotADirectoryError)

Answer = TypeVar("Answer")


class PatientFile(RawIOBase):
    """A file that is opened again when reading it fails."""

    def __init__(self, open_file: Callable[[], Any]) -> None:
        super().__init__()
        self._open_file, self._position = open_file, 0
        self._file: Any = None
        self._patiently(lambda _: None)  # what is not there is told at once

    def readable(self) -> bool:
        """It is there to be read."""
        return True

    def seekable(self) -> bool:
        """Any byte may be next."""
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Go somewhere; the store is told when the next bytes are asked for."""
        start = {SEEK_SET: lambda: 0, SEEK_CUR: lambda: self._position, SEEK_END: self._size}[whence]()
        self._position = max(start + offset, 0)
        return self._position

    def tell(self) -> int:
        """Say which byte is next."""
        return self._position

    def readinto(self, buffer: Any) -> int:
        """Read what comes next, as far as there is room and the store gives it at once."""

        def read(file: Any) -> bytes:
            file.seek(self._position)
            taken: bytes = file.read(len(buffer))
            return taken

        taken = self._patiently(read)
        buffer[: len(taken)] = taken
        self._position += len(taken)
        return len(taken)

    def close(self) -> None:
        """Let go of the store's file."""
        if self._file is not None:
            self._file.close()
            self._file = None
        super().close()

    def _size(self) -> int:
        return int(self._patiently(lambda file: file.size()))

    def _patiently(self, ask: Callable[[Any], Answer]) -> Answer:
        """Ask a question of the file, after each failure of one that was opened anew."""
        for pause in PAUSES:
            try:
                return self._asked(ask)
            except _FOR_GOOD:
                raise
            except OSError:
                self._file = None
                time.sleep(pause)
        return self._asked(ask)

    def _asked(self, ask: Callable[[Any], Answer]) -> Answer:
        if self._file is None:
            self._file = self._open_file()
        return ask(self._file)
