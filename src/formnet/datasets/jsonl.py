"""FormNet JSONL: a file, or a folder with one file per split (`train.jsonl`, `test.jsonl.gz`, …)."""

from collections.abc import Iterator
from pathlib import Path

from formnet.datasets.base import Corpus, files_by_split
from formnet.document import Document
from formnet.io.readers.jsonl import SUFFIXES, Line, iter_lines, parse


class Jsonl(Corpus):
    """Documents in the format of `formnet.io.readers.jsonl`."""

    aliases = {"dev": "validation", "val": "validation"}  # noqa: RUF012

    def find_splits(self) -> tuple[str, ...]:
        """Return the stems of the JSONL files, with train, validation and test first."""
        names = sorted(self._files())
        standard = [name for name in ("train", "validation", "test") if name in names]
        return (*standard, *(name for name in names if name not in standard))

    def expected(self) -> str:
        """Return the error message for a path without JSONL files."""
        return "no .jsonl or .jsonl.gz files found. Expected a JSONL file, or a folder with one per split."

    def sources(self, split: str) -> Iterator[Line]:
        """Yield the lines of the split's file."""
        return iter_lines(self._files()[split])

    def parse(self, source: Line) -> Document:
        """Parse one line."""
        return parse(source)

    def _files(self) -> dict[str, Path]:
        files = [self.path] if self.path.is_file() else sorted(self.path.iterdir())
        return files_by_split(
            (file.name.removesuffix(suffix), file)
            for file in files
            for suffix in SUFFIXES
            if file.name.endswith(suffix) and file.is_file()
        )


CORPUS = Jsonl
