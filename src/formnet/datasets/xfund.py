"""XFUND (Xu et al., 2022): forms in several languages with FUNSD labels, in the PaddleOCR format.

One `LANGUAGE.SPLIT.paddle.tsv` per language and split, with one `file<TAB>{"ocr_info": …}` per line. Splits are named
`fr.val`, `zh.val` and so on. License: CC-BY-NC-SA-4.0.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from formnet.datasets.base import Corpus, sorted_files
from formnet.datasets.funsd import form_document
from formnet.document import Document
from formnet.io.readers.jsonl import Line, iter_lines

SUFFIX = ".paddle.tsv"


class Xfund(Corpus):
    """The XFUND corpus."""

    entity_types = ("header", "question", "answer")
    untagged = ("other",)

    def find_splits(self) -> tuple[str, ...]:
        """Return the available splits, as `LANGUAGE.SPLIT`."""
        return tuple(file.name.removesuffix(SUFFIX) for file in self._files())

    def expected(self) -> str:
        """Return the error message for a path without XFUND files."""
        return f"no XFUND files found. Expected files such as fr.val{SUFFIX}."

    def sources(self, split: str) -> Iterator[Line]:
        """Yield the lines of the split's file."""
        for file in self._files():
            if file.name == split + SUFFIX:
                yield from iter_lines(file)

    def parse(self, source: Line) -> Document:
        """Parse one form."""
        name, _, text = source.text.partition("\t")
        data = json.loads(text)
        image = source.file.parent / name
        return form_document(Path(name).stem, data["ocr_info"], (data["width"], data["height"]), image)

    def _files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path] if self.path.name.endswith(SUFFIX) else []
        return list(sorted_files(self.path, f"*{SUFFIX}"))


CORPUS = Xfund
