"""FUNSD (Jaume et al., 2019): noisy scanned forms with questions, answers, headers, and links between them.

Layout: `{training,testing}_data/{annotations,images}`. Every word has its own box; words are in annotation order.
License: non-commercial research.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formnet.datasets.base import Corpus, sorted_files
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.io.images import image_size

FOLDERS = {"train": "training_data", "test": "testing_data"}


class Funsd(Corpus):
    """The FUNSD corpus."""

    entity_types = ("header", "question", "answer")
    untagged = ("other",)

    def find_splits(self) -> tuple[str, ...]:
        """Return the splits that have annotations."""
        return tuple(split for split, folder in FOLDERS.items() if (self.path / folder / "annotations").is_dir())

    def expected(self) -> str:
        """Return the error message for a path without FUNSD annotations."""
        return "no FUNSD annotations found. Expected training_data/annotations or testing_data/annotations."

    def sources(self, split: str) -> Iterator[Path]:
        """Yield the annotation files."""
        return sorted_files(self.path / FOLDERS[split] / "annotations", "*.json")

    def parse(self, source: Path) -> Document:
        """Parse one form."""
        form = json.loads(source.read_text(encoding="utf-8"))["form"]
        image = source.parent.parent / "images" / f"{source.stem}.png"
        return form_document(source.stem, form, image_size(image), image)


def form_document(name: str, form: list[Any], size: tuple[int, int] | None, image: Path) -> Document:
    """Build a document from FUNSD or XFUND entities, which contain their words and links."""
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
    index = {entity["id"]: i for i, entity in enumerate(form)}
    link_counts = Counter((index[a], index[b]) for entity in form for a, b in entity["linking"])
    for (a, b), count in link_counts.items():
        for _ in range(count // 2):  # each link is listed at both of its ends
            builder.add_link(a, b)
    return builder.build()


CORPUS = Funsd
