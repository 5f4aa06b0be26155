"""A folder of documents as they are, without labels: to be counted, labeled by a model, or learned from unlabeled."""

from collections.abc import Iterator
from pathlib import Path

from formnet.datasets.base import Corpus
from formnet.document import Document
from formnet.io.readers import SUFFIXES, read_one, readable


class Files(Corpus):
    """Documents of a folder, each in a file of its own."""

    def find_splits(self) -> tuple[str, ...]:
        """Name the one split there is."""
        return ("all",) if self._files() else ()

    def expected(self) -> str:
        """Say what should have been there."""
        return f"holds no file that can be read; known are {', '.join(SUFFIXES)}."

    def sources(self, split: str) -> Iterator[Path]:
        """List the files."""
        assert split == "all"
        return iter(self._files())

    def parse(self, source: Path) -> Document:
        """Read one file."""
        return read_one(source)

    def _files(self) -> list[Path]:
        return [self.path] if self.path.is_file() else readable(self.path)


CORPUS = Files
