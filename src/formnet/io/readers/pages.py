"""What markup and the services' JSON share: a file read whole, pages that take word after word, one document a file."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from formnet.document import Document
from formnet.document.boxes import Box, split_line
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError, LimitError
from formnet.io import images
from formnet.io.readers.jsonl import refuse_surrogates

#: Markup and JSON are unpacked in memory to many times their size.
MOST_BYTES = 64 * 2**20


class WordPage:
    """One page as a file tells it; without a size it is guessed from the words."""

    def __init__(self, width: float | None = None, height: float | None = None, image: Path | None = None) -> None:
        self.width = width
        self.height = height
        self.image = image
        self.texts: list[str] = []
        self.boxes: list[Box] = []
        self._confidences: list[float | None] = []

    def add(self, text: str, box: Box, confidence: float | None = None) -> None:
        """Add a word, or all words of a line that came in one piece."""
        texts, boxes = split_line(text, box)
        if len(texts) <= 1:  # also what is blank, for the builder to note
            texts, boxes = [text.strip()], [box]
        self.texts.extend(texts)
        self.boxes.extend(boxes)
        self._confidences.extend([confidence] * len(texts))

    @property
    def confidences(self) -> Sequence[float] | None:
        """One number a word, or nothing: a made-up number for the words without one would look like a real one."""
        known = [confidence for confidence in self._confidences if confidence is not None]
        return known if known and len(known) == len(self.texts) else None


def read_whole(path: Path) -> bytes:
    """Give what a file holds, if that is not too much."""
    with path.open("rb") as file:
        raw = file.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        raise LimitError(f"{path}: has more than {MOST_BYTES >> 20} MiB; split the document.")
    return raw


def one_document(path: Path, pages: Iterable[WordPage], text_source: str) -> Document:
    """Give the document that a file's pages make."""
    builder = DocumentBuilder(str(path))
    seen: Counter[Path] = Counter()
    number = 0
    for number, page in enumerate(pages, 1):
        if number > images.MOST_PAGES:
            raise LimitError(f"{path}: has more than {images.MOST_PAGES:,} pages. Split it.")
        refuse_surrogates(page.texts, str(path))
        builder.add_page(
            page.texts,
            page.boxes,
            page.width,
            page.height,
            confidences=page.confidences,
            image=page.image,
            frame=0 if page.image is None else seen[page.image],  # pages of one TIFF all name it
            text_source=text_source,
        )
        if page.image is not None:
            seen[page.image] += 1
    if not number:
        raise DocumentError(f"{path}: has no pages.")
    return builder.build()


def image_beside(path: Path, name: str | None) -> Path | None:
    """Give the picture of this name in the file's own folder, if it is there; folders in the name are not followed."""
    last = (name or "").strip().replace("\\", "/").rpartition("/")[2]
    if last in ("", ".", ".."):
        return None
    try:
        image = path.parent / last
        return image if image.is_file() else None
    except (OSError, ValueError):  # no name that a file can have
        return None


def box_around(points: Sequence[tuple[float, float]]) -> Box:
    """Give the upright box around some points.

    >>> box_around([(2, 1), (8, 0), (9, 4), (3, 5)])
    (2, 0, 9, 5)
    """
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)
