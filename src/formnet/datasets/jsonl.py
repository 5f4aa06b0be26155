"""Our own JSONL: a file, or a folder with one file a split (`train.jsonl`, `test.jsonl.gz`, …)."""

from collections.abc import Iterator
from pathlib import Path

from formnet.datasets.base import Corpus, by_split
from formnet.document import Document
from formnet.io.readers.jsonl import SUFFIXES, Line, lines, parse


class Jsonl(Corpus):
    """Documents as `formnet.io.readers.jsonl` describes them."""

    aliases = {"dev": "validation", "val": "validation"}  # noqa: RUF012

    def find_splits(self) -> tuple[str, ...]:
        """Name the files that are there by their stems; the usual splits first."""
        names = sorted(self._files())
        usual = [name for name in ("train", "validation", "test") if name in names]
        return (*usual, *(name for name in names if name not in usual))

    def expected(self) -> str:
        """Say what should have been there."""
        return "holds no .jsonl or .jsonl.gz file."

    def sources(self, split: str) -> Iterator[Line]:
        """List a file's lines."""
        return lines(self._files()[split])

    def parse(self, source: Line) -> Document:
        """Read one document."""
        return parse(source)

    def _files(self) -> dict[str, Path]:
        files = [self.path] if self.path.is_file() else sorted(self.path.iterdir())
        return by_split(
            (file.name.removesuffix(suffix), file)
            for file in files
            for suffix in SUFFIXES
            if file.name.endswith(suffix) and file.is_file()
        )


CORPUS = Jsonl
