"""FUNSD: noisy scanned forms with questions, answers and headers, and links between them.

The public original: Jaume et al., 2019, `{training,testing}_data/{annotations,images}`. Non-commercial.
Every word has its own box; the order is the annotation's.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formnet.datasets.base import Corpus, files
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.io.images import size_of

FOLDERS = {"train": "training_data", "test": "testing_data"}


class Funsd(Corpus):
    """Forms of the FUNSD corpus."""

    entity_types = ("header", "question", "answer")
    untagged = ("other",)

    def find_splits(self) -> tuple[str, ...]:
        """Name the splits whose annotations are there."""
        return tuple(split for split, folder in FOLDERS.items() if (self.path / folder / "annotations").is_dir())

    def expected(self) -> str:
        """Say what should have been there."""
        return "holds no FUNSD; expected training_data/annotations or testing_data/annotations in it."

    def sources(self, split: str) -> Iterator[Path]:
        """List the annotation files."""
        return files(self.path / FOLDERS[split] / "annotations", "*.json")

    def parse(self, source: Path) -> Document:
        """Read one form."""
        form = json.loads(source.read_text(encoding="utf-8"))["form"]
        image = source.parent.parent / "images" / f"{source.stem}.png"
        return form_document(source.stem, form, size_of(image), image)


def form_document(name: str, form: list[Any], size: tuple[int, int] | None, image: Path) -> Document:
    """Build a document of FUNSD's (and XFUND's) entities with words and links."""
    words = [word for entity in form for word in entity["words"]]
    width, height = size or (None, None)
    builder = DocumentBuilder(name)
    builder.add_page(
        [word["text"] for word in words],
        [word["box"] for word in words],
        width,
        height,
        image=image if image.is_file() else None,
    )
    start = 0
    for entity in form:
        stop = start + len(entity["words"])
        builder.add_entity(entity["label"].lower(), range(start, stop))
        start = stop
    place = {entity["id"]: i for i, entity in enumerate(form)}
    told = Counter((place[a], place[b]) for entity in form for a, b in entity["linking"])
    for (a, b), times in told.items():
        for _ in range(times // 2):  # both ends tell of a link
            builder.add_link(a, b)
    return builder.build()


CORPUS = Funsd
