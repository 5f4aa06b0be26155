"""Unlabeled documents in a folder, for statistics, labeling by a model, or pre-training."""

from collections.abc import Iterator
from pathlib import Path

from formnet.datasets.base import Corpus
from formnet.document import Document
from formnet.io.file_types import SUFFIXES
from formnet.io.readers import find_files, read_one


class Files(Corpus):
    """Unlabeled documents, one per file."""

    def find_splits(self) -> tuple[str, ...]:
        """Return the only split, `all`."""
        return ("all",) if self._files() else ()

    def expected(self) -> str:
        """Return the error message for a path without readable files."""
        return f"no readable files found. Supported file types: {', '.join(SUFFIXES)}."

    def sources(self, split: str) -> Iterator[Path]:
        """Yield the files."""
        assert split == "all"
        return iter(self._files())

    def parse(self, source: Path) -> Document:
        """Parse one file."""
        return read_one(source)

    def _files(self) -> list[Path]:
        return [self.path] if self.path.is_file() else find_files(self.path)


CORPUS = Files
