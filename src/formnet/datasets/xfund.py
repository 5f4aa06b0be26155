"""XFUND: forms in other languages, labeled as FUNSD's, in PaddleOCR's packaging.

The public original: Xu et al., 2022; one `LANGUAGE.SPLIT.paddle.tsv` a language, `file<TAB>{"ocr_info": …}` a
line. CC-BY-NC-SA-4.0. A split is called `fr.val`, `zh.val` and so on.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from formnet.datasets.base import Corpus, files
from formnet.datasets.funsd import form_document
from formnet.document import Document
from formnet.io.readers.jsonl import Line, lines

SUFFIX = ".paddle.tsv"


class Xfund(Corpus):
    """Forms of the XFUND corpus."""

    entity_types = ("header", "question", "answer")
    untagged = ("other",)

    def find_splits(self) -> tuple[str, ...]:
        """Name the languages and splits that are there."""
        return tuple(file.name.removesuffix(SUFFIX) for file in self._files())

    def expected(self) -> str:
        """Say what should have been there."""
        return f"holds no XFUND; expected files such as fr.val{SUFFIX}."

    def sources(self, split: str) -> Iterator[Line]:
        """List the lines of a language's file."""
        for file in self._files():
            if file.name == split + SUFFIX:
                yield from lines(file)

    def parse(self, source: Line) -> Document:
        """Read one form."""
        name, _, text = source.text.partition("\t")
        data = json.loads(text)
        image = source.file.parent / name
        return form_document(Path(name).stem, data["ocr_info"], (data["width"], data["height"]), image)

    def _files(self) -> list[Path]:
        if self.path.is_file():
            return [self.path] if self.path.name.endswith(SUFFIX) else []
        return list(files(self.path, f"*{SUFFIX}"))


CORPUS = Xfund
