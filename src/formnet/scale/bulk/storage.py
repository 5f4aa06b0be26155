"""Paths and URLs on any filesystem that pyarrow or fsspec supports."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileSystem, FileType, FSSpecHandler, PyFileSystem

from formnet.errors import SettingsError
from formnet.io.writers import atomic_write
from formnet.scale.bulk.retrying_file import RetryingFile

#: Filesystems on which writes are atomic, and renaming is copying.
_OBJECT_STORES = ("s3", "gcs", "abfs")
#: Bytes per read.
_BUFFER_BYTES = 2**18
#: Characters of a URL that are not quoted.
_URL_CHARACTERS = "%/:?#[]@!$&'()*+,;=~"


@dataclass(frozen=True)
class StoragePath:
    """A file or folder: its address, its filesystem, and its path on that filesystem."""

    address: str
    filesystem: Any
    path: str

    def __truediv__(self, name: str) -> "StoragePath":
        address, mark, options = self.address.partition("?") if self.is_url else (self.address, "", "")
        # pyarrow unquotes URLs, fsspec does not.
        quoted = quote(name) if self.is_url and not isinstance(self.filesystem, PyFileSystem) else name
        return StoragePath(
            f"{address.rstrip('/')}/{quoted}{mark}{options}", self.filesystem, f"{self.path.rstrip('/')}/{name}"
        )

    def __str__(self) -> str:
        return self.address

    @property
    def is_url(self) -> bool:
        """Whether it must be downloaded before other libraries than pyarrow can open it."""
        return "://" in self.address

    @property
    def kind(self) -> str:
        """The kind of entry: "file", "folder" or "nothing"."""
        file_type = self.filesystem.get_file_info(self.path).type
        return {FileType.NotFound: "nothing", FileType.Directory: "folder"}.get(file_type, "file")

    @property
    def size(self) -> int:
        """The size of a file in bytes."""
        return int(self.filesystem.get_file_info(self.path).size or 0)

    @property
    def version(self) -> str:
        """The size and modification time of a file: a rewritten file has another version, even of the same size."""
        info = self.filesystem.get_file_info(self.path)
        return f"{info.size or 0}-{info.mtime_ns or ''}"

    def names(self) -> list[str]:
        """List the names in a folder, sorted; empty if there is no folder."""
        entries = self.filesystem.get_file_info(FileSelector(self.path, allow_not_found=True))
        return sorted(entry.base_name for entry in entries)

    def files(self) -> Iterator["StoragePath"]:
        """Iterate over all files below a folder in a stable order, listing one folder at a time."""
        entries = self.filesystem.get_file_info(FileSelector(self.path))
        for entry in sorted(entries, key=lambda entry: str(entry.base_name)):
            child = self / entry.base_name
            if entry.type != FileType.Directory:
                yield child
            elif not Path(child.path).is_symlink():  # could be a cycle
                yield from child.files()

    def open(self) -> BufferedReader:
        """Open a file for reading with random access; errors of remote storage are retried."""

        def open_file() -> Any:
            return self.filesystem.open_input_file(self.path)

        return BufferedReader(RetryingFile(open_file) if self.is_url else open_file(), _BUFFER_BYTES)

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Lock a local file while a process uses the folder it is in; raise `SettingsError` if another one does.

        The lock ends with the process, even if it is killed. Object stores have no locks.
        """
        if self.filesystem.type_name != "local":
            yield
            return
        with Path(self.path).open("wb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                folder = Path(self.path).parent
                raise SettingsError(
                    f"{folder}: another run writes to it. Wait for it, or use another folder."
                ) from error
            yield

    def make_folder(self) -> None:
        """Create a folder and its parents, unless the filesystem has no folders."""
        if self.filesystem.type_name not in _OBJECT_STORES:
            self.filesystem.create_dir(self.path, recursive=True)

    def delete(self) -> None:
        """Delete a file if it exists."""
        with suppress(FileNotFoundError):
            self.filesystem.delete_file(self.path)

    def write(self, data: Any) -> None:
        """Write a file atomically."""
        for attempt in range(2):
            try:
                with self.open_output() as file:
                    file.write(data)
                return
            except FileNotFoundError:  # another run into the same folder may have deleted the temporary file
                if attempt:
                    raise

    @contextmanager
    def open_output(self) -> Iterator[Any]:
        """Open a file for writing that appears under its name only when it is complete."""
        if self.filesystem.type_name == "local":
            with atomic_write(Path(self.path)) as part, part.open("wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())  # otherwise a power failure could leave the name without the content
        elif self.filesystem.type_name in _OBJECT_STORES:
            with self.filesystem.open_output_stream(self.path) as file:
                yield file
        else:
            folder, _, name = self.path.rpartition("/")
            part_path = f"{folder}/.{name}.{uuid4().hex}"
            try:
                with self.filesystem.open_output_stream(part_path) as file:
                    yield file
                self.filesystem.move(part_path, self.path)
            except BaseException:
                with suppress(OSError):
                    self.filesystem.delete_file(part_path)
                raise


def storage_path(address: str) -> StoragePath:
    """Resolve a path or a URL: s3://bucket/folder, gs://…, hdfs://…, or any protocol with an fsspec package."""
    if "://" not in address:
        path = os.path.abspath(os.path.expanduser(address))  # noqa: PTH100, PTH111 - workers have other directories
        return StoragePath(path, _local(), path)
    try:
        filesystem, path = FileSystem.from_uri(quote(address, safe=_URL_CHARACTERS))
    except (ArrowException, ValueError, NotImplementedError):
        filesystem, path = _resolve_with_fsspec(address)
    except OSError as error:
        raise SettingsError(f"{address}: storage cannot be reached: {error}") from error
    return StoragePath(address, filesystem, path)


@cache
def _local() -> Any:
    from pyarrow.fs import LocalFileSystem

    return LocalFileSystem()


def _resolve_with_fsspec(address: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    try:
        filesystem, path = url_to_fs(address)
    except (ImportError, ValueError, OSError) as error:
        raise SettingsError(f"{address}: unsupported filesystem: {error}") from error
    return PyFileSystem(FSSpecHandler(filesystem)), path
