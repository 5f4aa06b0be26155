"""SROIE: scanned receipts with four keyed-in values each and no boxes for them.

The public original: ICDAR 2019 challenge, `{train,test}/{box,entities,img}`. CC-BY-4.0. A row of `box` is one line
of text with its corners; words take their share of its width by characters. The values become `fields`;
`formnet.datasets.alignment` finds the words that say them.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from formnet.datasets.base import Corpus, files
from formnet.document import Document
from formnet.document.boxes import Box, split_line
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError
from formnet.io.images import size_of


class Sroie(Corpus):
    """Receipts of the SROIE corpus."""

    entity_types = ("company", "date", "address", "total")

    def find_splits(self) -> tuple[str, ...]:
        """Name the splits that are there."""
        return tuple(split for split in ("train", "test") if (self.path / split / "box").is_dir())

    def expected(self) -> str:
        """Say what should have been there."""
        return "holds no SROIE; expected train/box or test/box in it."

    def sources(self, split: str) -> Iterator[Path]:
        """List the files of text lines."""
        return files(self.path / split / "box", "*.txt")

    def parse(self, source: Path) -> Document:
        """Read one receipt."""
        texts: list[str] = []
        boxes: list[Box] = []
        for number, row in enumerate(_decode(source.read_bytes()).splitlines(), 1):
            if row.strip():
                words, places = split_line(*_line(row, source, number))
                texts += words
                boxes += places
        values = source.parent.parent / "entities" / source.name
        fields = json.loads(_decode(values.read_bytes())) if values.is_file() else {}
        image = source.parent.parent / "img" / f"{source.stem}.jpg"
        width, height = size_of(image) or (None, None)
        builder = DocumentBuilder(source.stem)
        builder.add_page(texts, boxes, width, height, image=image if width else None)
        return builder.build({name: value for name, value in fields.items() if value.strip()})


def _line(row: str, file: Path, number: int) -> tuple[str, Box]:
    *corners, text = row.split(",", 8)
    try:
        x1, y1, x2, y2, x3, y3, x4, y4 = map(float, corners)
        x, y = (x1, x2, x3, x4), (y1, y2, y3, y4)
        return text, (min(x), min(y), max(x), max(y))
    except ValueError as error:
        raise DocumentError(f"{file}, line {number}: expected x1,y1,…,x4,y4,text but found {row[:60]!r}.") from error


def _decode(raw: bytes) -> str:
    """Read UTF-8, or Latin-1 for the few files that are not."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


CORPUS = Sroie
