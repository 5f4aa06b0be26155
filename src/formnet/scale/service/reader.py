"""Convert uploaded files to documents in a child process, which is restarted if a file crashes or blocks it."""

import asyncio
import os
import shutil
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from errno import ENOSPC
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile, gettempdir
from uuid import uuid4

from formnet.errors import FormNetError
from formnet.io.isolation import IsolatedReader, IsolationLimits, ReadResult
from formnet.scale.service.errors import ApiError, internal_error, storage_error, to_api_error
from formnet.scale.service.settings import ServiceSettings

#: Start of the names of temporary folders; the number of the process follows.
_PREFIX = "formnet-"


@dataclass(frozen=True)
class Upload:
    """An uploaded file; its name is only displayed, never used as a path."""

    name: str
    content: bytes


class Reader:
    """Replica that passes one file at a time to its child process."""

    def __init__(self, settings: ServiceSettings) -> None:
        _remove_stale_folders()
        self.folder = TemporaryDirectory(prefix=f"{_PREFIX}{os.getpid()}-")
        isolation = IsolationLimits(settings.timeout, settings.max_memory, per_page=False)
        self.reader = IsolatedReader(settings.ocr, settings.read_limits, isolation, preload_ocr=True)
        # A single thread: if a client is gone, waiting for the child process is cheaper than restarting it.
        self.thread = ThreadPoolExecutor(1, "reader")

    async def read(self, upload: Upload, images: bool) -> ReadResult | ApiError:
        """Read a file; errors refer to it by the name that the client gave it."""
        return await asyncio.get_running_loop().run_in_executor(self.thread, self._read, upload, images)

    def _read(self, upload: Upload, images: bool) -> ReadResult | ApiError:
        try:
            with _path_of(upload, Path(self.folder.name)) as path:
                try:
                    document, urls = self.reader.read_one(path, images=images)
                except FormNetError as error:
                    return to_api_error(error, str(error).replace(str(path), upload.name))
        except OSError as error:
            if error.errno == ENOSPC:
                return storage_error()
            return internal_error(error)
        except Exception as error:
            return internal_error(error)
        # Paths of images are of no use to the client; FormNet JSON may refer to any file of this machine.
        pages = tuple(replace(page, image=None) for page in document.pages)
        return ReadResult(replace(document, id=upload.name, pages=pages), urls)

    def close(self) -> None:
        """End the child process."""
        self.reader.close()
        self.folder.cleanup()

    def __del__(self) -> None:  # called by Serve
        self.close()


def _remove_stale_folders() -> None:
    """Remove the folders of processes that were killed; they hold no uploads, only links to what is gone."""
    for folder in Path(gettempdir()).glob(f"{_PREFIX}*-*"):
        with suppress(ValueError, OSError):
            if folder.lstat().st_uid == os.getuid() and not _is_running(int(folder.name.split("-")[1])):
                shutil.rmtree(folder)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


@contextmanager
def _path_of(upload: Upload, folder: Path) -> Iterator[Path]:
    """Yield a path under which an upload can be read; on Linux, nothing is left even if this process is killed."""
    # File types are detected from content, except that of JSONL.
    suffix = ".jsonl" if upload.name.lower().endswith(".jsonl") else ""
    path = folder / f"{uuid4().hex}{suffix}"
    with TemporaryFile() as file:
        if sys.platform == "linux":
            file.write(upload.content)
            file.flush()
            path.symlink_to(f"/proc/{os.getpid()}/fd/{file.fileno()}")
        else:
            path.write_bytes(upload.content)
        try:
            yield path
        finally:
            path.unlink()
