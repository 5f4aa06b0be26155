"""A file → Documents. One file a format; a module here that defines `SUFFIXES` and `read` is a reader."""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Protocol, cast

from formnet.document import Document
from formnet.errors import DocumentError


class Reader(Protocol):
    """What a module of this package offers."""

    SUFFIXES: tuple[str, ...]

    def read(self, path: Path) -> Iterator[Document]:
        """Give the documents in a file, one at a time."""
        ...


def read(path: str | Path) -> Iterator[Document]:
    """Give the documents in a file, by the reader that knows its suffix."""
    path = Path(path)
    for suffix, reader in _readers().items():
        if path.name.lower().endswith(suffix):
            if not path.is_file():
                raise DocumentError(f"{path}: no such file.")
            return reader.read(path)
    raise DocumentError(f"{path}: no reader for this suffix; known are {', '.join(_readers())}.")


@cache
def _readers() -> Mapping[str, Reader]:
    modules = (cast(Reader, import_module(f"{__name__}.{module.name}")) for module in iter_modules(__path__))
    return {suffix: module for module in modules for suffix in module.SUFFIXES}
