"""PDF files through pypdfium2: open within limits, extract the text layer, render pages.

PDFium is not thread-safe; all calls hold one lock.
"""

import ctypes
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import RLock
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from formnet.document.boxes import Box
from formnet.errors import DocumentError, LimitError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits, check_file

#: Resolution of rendered pages, for OCR.
RENDER_DPI = 200
#: Longest side of a rendered page in pixels; larger pages are rendered at a lower resolution.
MAX_RENDER_SIDE = 4000

_LOCK = RLock()
#: Code that PDFium reports for a hyphen at the end of a line.
_LINE_END_HYPHEN = 2
#: Device units per point, because PDFium returns integer coordinates.
_UNITS_PER_POINT = 64


@dataclass(frozen=True)
class TextLayer:
    """The text layer of a page, in file order."""

    width: float
    height: float
    texts: list[str]
    boxes: list[Box]
    image_coverage: float  # fraction of the page area covered by images

    @property
    def text_coverage(self) -> float:
        """Fraction of the page area covered by words."""
        area = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.boxes)
        return min(area / max(self.width * self.height, 1e-9), 1.0)

    @property
    def is_readable(self) -> bool:
        """Whether most characters are valid. Fonts without a Unicode map yield private-use or control characters."""
        characters = "".join(self.texts)
        num_invalid = sum(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" or ord(c) < 32 for c in characters)
        return bool(characters) and num_invalid <= 0.2 * len(characters)


@contextmanager
def open_pdf(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Any]:
    """Open a PDF; raise `DocumentError` if it is encrypted, corrupt, empty or over a limit."""
    check_file(path, limits)
    # Given a path, the library would resolve links, but an upload has no name that a link could be resolved to.
    with path.open("rb") as file:
        try:
            with _LOCK:
                document = pypdfium2.PdfDocument(file)
                document.init_forms()
        except pypdfium2.PdfiumError as error:
            if "password" in str(error).lower():
                raise DocumentError(f"{path}: the PDF is encrypted. Save it without a password.") from error
            raise DocumentError(f"{path}: cannot be opened as a PDF: {str(error).rstrip('.')}.") from error
        try:
            num_pages = count_pages(document)
            if num_pages > limits.max_pages:
                raise LimitError(f"{path}: {num_pages:,} pages (limit {limits.max_pages:,}). Split the file.")
            if num_pages == 0:
                raise DocumentError(f"{path}: the PDF has no pages.")
            yield document
        except pypdfium2.PdfiumError as error:
            raise DocumentError(f"{path}: a page cannot be read: {str(error).rstrip('.')}.") from error
        finally:
            with _LOCK:
                document.close()


def count_pages(document: Any) -> int:
    """Return the number of pages of an open PDF."""
    with _LOCK:
        return len(document)


def text_layer(document: Any, number: int, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> TextLayer:
    """Extract the text layer of a page in display coordinates, without words outside the crop box."""
    with _open_page(document, number) as page, closing(page.get_textpage()) as text_page:
        width, height = page.get_size()
        num_characters = text_page.count_chars()
        if num_characters > limits.max_page_characters:
            raise LimitError(
                f"{path}, page {number + 1}: {num_characters:,} characters (limit {limits.max_page_characters:,}). "
                "Re-export the PDF or submit an image."
            )
        words = [
            (codes, _to_display(page, width, height, box)) for codes, box in _iter_words(text_page.raw, num_characters)
        ]
        words = [(codes, box) for codes, box in words if _is_visible(width, height, box)]
        texts = ["".join(map(chr, codes)) for codes, _ in words]
        return TextLayer(width, height, texts, [box for _, box in words], _image_coverage(page))


def _is_visible(width: float, height: float, box: Box) -> bool:
    x0, y0, x1, y1 = box
    return 0 <= (x0 + x1) / 2 <= width and 0 <= (y0 + y1) / 2 <= height


@contextmanager
def _open_page(document: Any, number: int) -> Iterator[Any]:
    """Open a page, with form fields and annotations flattened into it, and hold the lock until it is closed."""
    with _LOCK, ExitStack() as stack:
        page = stack.enter_context(closing(document[number]))
        if pdfium.FPDFPage_GetAnnotCount(page.raw):
            pdfium.FPDFPage_Flatten(page.raw, pdfium.FLAT_NORMALDISPLAY)
            stack.close()  # flattened content is visible only after the page is reopened
            page = stack.enter_context(closing(document[number]))
        yield page


def _iter_words(text_page: Any, num_characters: int) -> Iterator[tuple[list[int], Box]]:
    """Yield words as character codes with their bounding box in page coordinates (y upwards)."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    codes: list[int] = []
    box: Box | None = None
    for i in range(num_characters):
        code = pdfium.FPDFText_GetUnicode(text_page, i)
        # A font without a Unicode map may also have a glyph with this code.
        is_hyphen = code == _LINE_END_HYPHEN and pdfium.FPDFText_IsHyphen(text_page, i) == 1
        is_printed = is_hyphen or not _is_separator(code)
        if is_printed and pdfium.FPDFText_GetCharBox(text_page, i, left, right, bottom, top):
            codes.append(ord("-") if is_hyphen else code)
            x0, y0, x1, y1 = left.value, bottom.value, right.value, top.value
            if box is not None:
                x0, y0, x1, y1 = min(box[0], x0), min(box[1], y0), max(box[2], x1), max(box[3], y1)
            box = (x0, y0, x1, y1)
        if _is_separator(code):
            if codes and box is not None:
                yield codes, box
            codes, box = [], None
    if codes and box is not None:
        yield codes, box


def _is_separator(code: int) -> bool:
    """Return whether a character ends a word: whitespace, control characters and invalid code points."""
    return code <= 32 or code in (0xA0, 0xAD, 0xFFFE, 0xFFFF) or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF


def _to_display(page: Any, width: float, height: float, box: Box) -> Box:
    """Convert a box from page coordinates to display coordinates: rotated, origin top left."""
    x, y = ctypes.c_int(), ctypes.c_int()
    size = max(round(width * _UNITS_PER_POINT), 1), max(round(height * _UNITS_PER_POINT), 1)
    corners = []
    for corner in ((box[0], box[1]), (box[2], box[3])):
        pdfium.FPDF_PageToDevice(page.raw, 0, 0, *size, 0, *corner, x, y)
        corners.append((x.value / _UNITS_PER_POINT, y.value / _UNITS_PER_POINT))
    (ax, ay), (bx, by) = corners
    return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def _image_coverage(page: Any) -> float:
    """Return the fraction of the page area covered by images, summed because a scan may be stored in strips."""
    width, height = page.get_size()
    area = 0.0
    for page_object in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]):
        left, bottom, right, top = _page_bounds(page_object)
        area += float((right - left) * (top - bottom))
    return min(area / max(float(width * height), 1e-9), 1.0)


def _page_bounds(page_object: Any) -> Box:
    """Return the bounds of an object in page coordinates, also if it is inside nested form XObjects."""
    box: Box = page_object.get_bounds()
    while (page_object := page_object.container) is not None:
        box = page_object.get_matrix().on_rect(*box)
    return box


def render_page(document: Any, number: int) -> Image.Image:
    """Render a page of an open PDF."""
    with _open_page(document, number) as page:
        scale = min(RENDER_DPI / 72, MAX_RENDER_SIDE / max(*page.get_size(), 1.0))
        image: Image.Image = page.render(scale=scale).to_pil().convert("RGB")
    return image


def render_page_of(path: Path, number: int, limits: ReadLimits = DEFAULT_LIMITS) -> Image.Image:
    """Render one page of a PDF file."""
    with open_pdf(path, limits) as document:
        if not 0 <= number < count_pages(document):
            raise DocumentError(f"{path}: the PDF has no page {number + 1}.")
        return render_page(document, number)
