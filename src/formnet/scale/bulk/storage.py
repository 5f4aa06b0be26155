"""Where bulk work reads and writes: paths and URLs on any filesystem that pyarrow or fsspec knows."""

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
from formnet.scale.bulk.retrying_file import PatientFile

#: Where a file is there as a whole or not at all, and renaming means copying.
_OBJECT_STORES = ("s3", "gcs", "abfs")
#: Bytes that are asked for at once.
_READ_AHEAD = 2**18
#: What stands in a URL as it is; spaces and letters beyond ASCII do not.
_OF_URLS = "%/:?#[]@!$&'()*+,;=~"


@dataclass(frozen=True)
class StoragePath:
    """A file or a folder: its address, and what that is on its filesystem."""

    address: str
    filesystem: Any
    path: str

    def __truediv__(self, name: str) -> "StoragePath":
        address, mark, options = self.address.partition("?") if self.is_url else (self.address, "", "")
        # What pyarrow reads as a URL is unquoted again; what fsspec does is not.
        told = quote(name) if self.is_url and not isinstance(self.filesystem, PyFileSystem) else name
        return StoragePath(
            f"{address.rstrip('/')}/{told}{mark}{options}", self.filesystem, f"{self.path.rstrip('/')}/{name}"
        )

    def __str__(self) -> str:
        return self.address

    @property
    def is_url(self) -> bool:
        """Whether it has to be fetched before anything but pyarrow can open it."""
        return "://" in self.address

    @property
    def kind(self) -> str:
        """What is there: "file", "folder" or "nothing"."""
        found = self.filesystem.get_file_info(self.path).type
        return {FileType.NotFound: "nothing", FileType.Directory: "folder"}.get(found, "file")

    @property
    def size(self) -> int:
        """How many bytes a file has."""
        return int(self.filesystem.get_file_info(self.path).size or 0)

    def names(self) -> list[str]:
        """Name what a folder holds; nothing if there is none."""
        found = self.filesystem.get_file_info(FileSelector(self.path, allow_not_found=True))
        return sorted(info.base_name for info in found)

    def files(self) -> Iterator["StoragePath"]:
        """Give all files below a folder, in a stable order and with one folder's names in memory at a time."""
        found = self.filesystem.get_file_info(FileSelector(self.path))
        for info in sorted(found, key=lambda info: str(info.base_name)):
            below = self / info.base_name
            if info.type != FileType.Directory:
                yield below
            elif not Path(below.path).is_symlink():  # it may lead back here
                yield from below.files()

    def open(self) -> BufferedReader:
        """Open a file for reading from any of its bytes on; a store may stumble, and is asked again."""

        def opened() -> Any:
            return self.filesystem.open_input_file(self.path)

        return BufferedReader(PatientFile(opened) if self.is_url else opened(), _READ_AHEAD)

    def make_folder(self) -> None:
        """Make a folder, and those above it, where there are folders."""
        if self.filesystem.type_name not in _OBJECT_STORES:
            self.filesystem.create_dir(self.path, recursive=True)

    def delete(self) -> None:
        """Remove a file, if it is there."""
        with suppress(FileNotFoundError):
            self.filesystem.delete_file(self.path)

    def write(self, data: Any) -> None:
        """Write a file at once."""
        for attempt in range(2):
            try:
                with self.writing() as file:
                    file.write(data)
                return
            except FileNotFoundError:  # another run into the same folder took it for something left behind
                if attempt:
                    raise

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """Open a file for writing that takes its name only when it is whole."""
        if self.filesystem.type_name in _OBJECT_STORES:
            with self.filesystem.open_output_stream(self.path) as file:
                yield file
            return
        folder, _, name = self.path.rpartition("/")
        part = f"{folder}/.{name}.{uuid4().hex}"
        try:
            with self.filesystem.open_output_stream(part) as file:
                yield file
            if self.filesystem.type_name == "local":
                with Path(part).open("rb") as written:
                    os.fsync(written.fileno())  # or a power cut could leave the name and not what it is for
            self.filesystem.move(part, self.path)
        except BaseException:
            with suppress(OSError):
                self.filesystem.delete_file(part)
            raise


def storage_path(address: str) -> StoragePath:
    """Find a path, or a URL: s3://bucket/folder, gs://…, hdfs://…, or whatever fsspec has a package for."""
    if "://" not in address:
        path = os.path.abspath(os.path.expanduser(address))  # noqa: PTH100, PTH111 - on a cluster nobody is here
        return StoragePath(path, _local(), path)
    try:
        filesystem, path = FileSystem.from_uri(quote(address, safe=_OF_URLS))
    except (ArrowException, ValueError, NotImplementedError):
        filesystem, path = _by_fsspec(address)
    except OSError as error:
        raise SettingsError(f"{address}: cannot be reached: {error}") from error
    return StoragePath(address, filesystem, path)


@cache
def _local() -> Any:
    from pyarrow.fs import LocalFileSystem

    return LocalFileSystem()


def _by_fsspec(address: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    try:
        filesystem, path = url_to_fs(address)
    except (ImportError, ValueError, OSError) as error:
        raise SettingsError(f"{address}: is on no filesystem that is known here: {error}") from error
    return PyFileSystem(FSSpecHandler(filesystem)), path
