"""Our own JSONL: a file, or a folder with one file a split (`train.jsonl`, `test.jsonl.gz`, …)."""

from collections.abc import Iterator
from pathlib import Path

from formnet.corpora.base import Corpus
from formnet.document import Document
from formnet.errors import CorpusError
from formnet.readers.jsonl import SUFFIXES, Line, lines, parse


class Jsonl(Corpus):
    """Documents as `formnet.readers.jsonl` describes them."""

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
        files: dict[str, Path] = {}
        for file in [self.path] if self.path.is_file() else sorted(self.path.iterdir()):
            suffix = next((suffix for suffix in SUFFIXES if file.name.endswith(suffix)), None)
            if suffix and file.is_file():
                name = file.name.removesuffix(suffix)
                if name in files:
                    raise CorpusError(f"{self.path}: both {files[name].name} and {file.name} are there; remove one.")
                files[name] = file
        return files


CORPUS = Jsonl
