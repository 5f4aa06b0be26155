"""SROIE (ICDAR 2019): scanned receipts with four field values per receipt and no boxes for the values.

Layout: `{train,test}/{box,entities,img}`. A row of a `box` file is a text line with its corners; the line is split into
words in proportion to their characters, and words such as `DATE:21/03/2018` are split. The values become `fields`,
which `datasets.alignment` locates in the words.
License: CC-BY-4.0.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from formnet.datasets.base import Corpus, sorted_files
from formnet.document import Document
from formnet.document.boxes import Box, split_line
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError
from formnet.io.glued_words import split_glued_words
from formnet.io.images import image_size


class Sroie(Corpus):
    """The SROIE corpus."""

    entity_types = ("company", "date", "address", "total")
    canonical_names = {"company": "merchant.name", "address": "merchant.address"}  # noqa: RUF012

    def find_splits(self) -> tuple[str, ...]:
        """Return the splits that have box files."""
        return tuple(split for split in ("train", "test") if (self.path / split / "box").is_dir())

    def expected(self) -> str:
        """Return the error message for a path without SROIE files."""
        return "no SROIE files found. Expected a folder with train/box or test/box."

    def sources(self, split: str) -> Iterator[Path]:
        """Yield the box files."""
        return sorted_files(self.path / split / "box", "*.txt")

    def parse(self, source: Path) -> Document:
        """Parse one receipt."""
        texts: list[str] = []
        boxes: list[Box] = []
        for number, row in enumerate(_decode(source.read_bytes()).splitlines(), 1):
            if row.strip():
                words, word_boxes = split_line(*_parse_line(row, source, number))
                texts += words
                boxes += word_boxes
        values_file = source.parent.parent / "entities" / source.name
        fields = json.loads(_decode(values_file.read_bytes())) if values_file.is_file() else {}
        image = source.parent.parent / "img" / f"{source.stem}.jpg"
        width, height = image_size(image) or (None, None)
        builder = DocumentBuilder(source.stem)
        builder.add_page(texts, boxes, width, height, image=image if width else None)
        document = builder.build({name: value for name, value in fields.items() if value.strip()})
        return split_glued_words(document)


def _parse_line(row: str, file: Path, number: int) -> tuple[str, Box]:
    *corners, text = row.split(",", 8)
    try:
        x1, y1, x2, y2, x3, y3, x4, y4 = map(float, corners)
        x, y = (x1, x2, x3, x4), (y1, y2, y3, y4)
        return text, (min(x), min(y), max(x), max(y))
    except ValueError as error:
        raise DocumentError(f"{file}, line {number}: expected x1,y1,…,x4,y4,text, found {row[:60]!r}.") from error


def _decode(raw: bytes) -> str:
    """Decode UTF-8, or Latin-1 for the few files that are not valid UTF-8."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


CORPUS = Sroie
