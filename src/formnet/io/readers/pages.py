"""Shared by markup and OCR service readers: load a file, collect words by page, build one document per file."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from formnet.document import Document
from formnet.document.boxes import Box, split_line
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError, LimitError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.jsonl import check_surrogates


class WordPage:
    """Words of one page. A missing page size is estimated from the words when the document is built."""

    def __init__(self, width: float | None = None, height: float | None = None, image: Path | None = None) -> None:
        self.width = width
        self.height = height
        self.image = image
        self.texts: list[str] = []
        self.boxes: list[Box] = []
        self._confidences: list[float | None] = []

    def add(self, text: str, box: Box, confidence: float | None = None) -> None:
        """Add a word, or each word of a line."""
        texts, boxes = split_line(text, box)
        if len(texts) <= 1:  # including blank words, which the builder records as repairs
            texts, boxes = [text.strip()], [box]
        self.texts.extend(texts)
        self.boxes.extend(boxes)
        self._confidences.extend([confidence] * len(texts))

    @property
    def confidences(self) -> Sequence[float] | None:
        """One confidence per word, or None unless every word has one."""
        known = [confidence for confidence in self._confidences if confidence is not None]
        return known if known and len(known) == len(self.texts) else None


def read_bytes(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> bytes:
    """Read a text file; raise `LimitError` if it is too large."""
    with path.open("rb") as file:
        raw = file.read(limits.max_text_bytes + 1)
    if len(raw) > limits.max_text_bytes:
        raise LimitError(f"{path}: larger than {limits.max_text_bytes >> 20} MiB (the limit). Split the document.")
    return raw


def build_document(
    path: Path, pages: Iterable[WordPage], text_source: str, limits: ReadLimits = DEFAULT_LIMITS
) -> Document:
    """Build the document of a file from its pages."""
    builder = DocumentBuilder(str(path))
    num_frames: Counter[Path] = Counter()
    number = 0
    for number, page in enumerate(pages, 1):
        if number > limits.max_pages:
            raise LimitError(f"{path}: more than {limits.max_pages:,} pages (the limit). Split the file.")
        check_surrogates(page.texts, str(path))
        builder.add_page(
            page.texts,
            page.boxes,
            page.width,
            page.height,
            confidences=page.confidences,
            image=page.image,
            frame=0 if page.image is None else num_frames[page.image],  # pages of a TIFF name the same image
            text_source=text_source,
        )
        if page.image is not None:
            num_frames[page.image] += 1
    if not number:
        raise DocumentError(f"{path}: has no pages.")
    return builder.build()


def find_image(path: Path, name: str | None) -> Path | None:
    """Return the image of this name in the directory of a file, or None. Directories in the name are ignored."""
    file_name = (name or "").strip().replace("\\", "/").rpartition("/")[2]
    if file_name in ("", ".", ".."):
        return None
    try:
        image = path.parent / file_name
        return image if image.is_file() else None
    except (OSError, ValueError):  # invalid file name
        return None


def bounding_box(points: Sequence[tuple[float, float]]) -> Box:
    """Return the axis-aligned bounding box of points.

    >>> bounding_box([(2, 1), (8, 0), (9, 4), (3, 5)])
    (2, 0, 9, 5)
    """
    xs, ys = zip(*points, strict=True)
    return min(xs), min(ys), max(xs), max(ys)
