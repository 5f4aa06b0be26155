"""PDF files by pypdfium2: opened within limits, their own words, and pictures of their pages.

PDFium is not made for threads: one at a time.
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
from formnet.io.images import MOST_PAGES, refuse_large

#: More characters than this on one page are not a page.
MOST_CHARACTERS = 500_000
#: For reading by OCR.
DOTS_PER_INCH = 200
LONGEST_SIDE = 4000  # pixels, however large the page says it is

_LOCK = RLock()
#: What PDFium makes of a hyphen at the end of a line.
_LINE_END_HYPHEN = 2
#: Device units per point, since PDFium gives whole ones.
_FINE = 64


@dataclass(frozen=True)
class TextLayer:
    """A page's own words, as they come in the file."""

    width: float
    height: float
    texts: list[str]
    boxes: list[Box]
    pictured: float  # the share of the page that its pictures cover

    @property
    def written(self) -> float:
        """The share of the page that its words cover."""
        area = sum((x1 - x0) * (y1 - y0) for x0, y0, x1, y1 in self.boxes)
        return min(area / max(self.width * self.height, 1e-9), 1.0)

    @property
    def is_readable(self) -> bool:
        """Whether its characters are characters: fonts without a map to Unicode give private ones."""
        characters = "".join(self.texts)
        strange = sum(c == "\ufffd" or "\ue000" <= c <= "\uf8ff" or ord(c) < 32 for c in characters)
        return bool(characters) and strange <= 0.2 * len(characters)


@contextmanager
def open_pdf(path: Path) -> Iterator[Any]:
    """Open a file that is not too large, not encrypted and not broken."""
    refuse_large(path)
    try:
        with _LOCK:
            document = pypdfium2.PdfDocument(path)
            document.init_forms()
    except pypdfium2.PdfiumError as error:
        if "password" in str(error).lower():
            raise DocumentError(f"{path}: is encrypted; save it without its password first.") from error
        raise DocumentError(f"{path}: cannot be opened as a PDF: {str(error).rstrip('.')}.") from error
    try:
        count = count_pages(document)
        if count > MOST_PAGES:
            raise LimitError(f"{path}: has {count:,} pages; the limit is {MOST_PAGES:,}. Split it.")
        if count == 0:
            raise DocumentError(f"{path}: has no pages.")
        yield document
    except pypdfium2.PdfiumError as error:
        raise DocumentError(f"{path}: a page cannot be read: {str(error).rstrip('.')}.") from error
    finally:
        with _LOCK:
            document.close()


def count_pages(document: Any) -> int:
    """Count a file's pages."""
    with _LOCK:
        return len(document)


def text_layer(document: Any, number: int, path: Path) -> TextLayer:
    """Give a page's own words, turned as the page is shown."""
    with _page(document, number) as page, closing(page.get_textpage()) as text:
        width, height = page.get_size()
        count = text.count_chars()
        if count > MOST_CHARACTERS:
            told = f"has {count:,} characters; the limit is {MOST_CHARACTERS:,}"
            raise LimitError(f"{path}, page {number + 1}: {told}. Print it to pages anew, or send it as a picture.")
        words = [(codes, _shown(page, width, height, box)) for codes, box in _words(text.raw, count)]
        words = [(codes, box) for codes, box in words if _is_on(width, height, box)]  # not on what was cropped away
        texts = ["".join(map(chr, codes)) for codes, _ in words]
        return TextLayer(width, height, texts, [box for _, box in words], _pictured(page))


def _is_on(width: float, height: float, box: Box) -> bool:
    x0, y0, x1, y1 = box
    return 0 <= (x0 + x1) / 2 <= width and 0 <= (y0 + y1) / 2 <= height


@contextmanager
def _page(document: Any, number: int) -> Iterator[Any]:
    """Give a page while nobody else is in the library, and close it before anybody is.

    What was filled into a form, or noted on the page, is part of it.
    """
    with _LOCK, ExitStack() as opened:
        page = opened.enter_context(closing(document[number]))
        if pdfium.FPDFPage_GetAnnotCount(page.raw):
            pdfium.FPDFPage_Flatten(page.raw, pdfium.FLAT_NORMALDISPLAY)
            opened.close()  # what has become part of it is seen when it is opened again
            page = opened.enter_context(closing(document[number]))
        yield page


def _words(text: Any, count: int) -> Iterator[tuple[list[int], Box]]:
    """Give words as characters and the box around them, in the page's own coordinates (y upwards)."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    codes: list[int] = []
    box: Box | None = None
    for i in range(count):
        code = pdfium.FPDFText_GetUnicode(text, i)
        # A font without a map to Unicode may have a glyph by that number, too.
        hyphen = code == _LINE_END_HYPHEN and pdfium.FPDFText_IsHyphen(text, i) == 1
        seen = hyphen or not _is_space(code)
        if seen and pdfium.FPDFText_GetCharBox(text, i, left, right, bottom, top):
            codes.append(ord("-") if hyphen else code)
            x0, y0, x1, y1 = left.value, bottom.value, right.value, top.value
            if box is not None:
                x0, y0, x1, y1 = min(box[0], x0), min(box[1], y0), max(box[2], x1), max(box[3], y1)
            box = (x0, y0, x1, y1)
        if _is_space(code):
            if codes and box is not None:
                yield codes, box
            codes, box = [], None
    if codes and box is not None:
        yield codes, box


def _is_space(code: int) -> bool:
    """Tell what ends a word: spaces, line ends, and what is no character at all."""
    return code <= 32 or code in (0xA0, 0xAD, 0xFFFE, 0xFFFF) or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF


def _shown(page: Any, width: float, height: float, box: Box) -> Box:
    """Turn a box as the page is turned when shown, origin top left."""
    x, y = ctypes.c_int(), ctypes.c_int()
    size = max(round(width * _FINE), 1), max(round(height * _FINE), 1)
    corners = []
    for corner in ((box[0], box[1]), (box[2], box[3])):
        pdfium.FPDF_PageToDevice(page.raw, 0, 0, *size, 0, *corner, x, y)
        corners.append((x.value / _FINE, y.value / _FINE))
    (ax, ay), (bx, by) = corners
    return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)


def _pictured(page: Any) -> float:
    """Give the share of the page that its pictures cover: a scan may come in strips."""
    width, height = page.get_size()
    covered = 0.0
    for thing in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]):
        left, bottom, right, top = _bounds(thing)
        covered += float((right - left) * (top - bottom))
    return min(covered / max(float(width * height), 1e-9), 1.0)


def _bounds(thing: Any) -> Box:
    """Give the box of what is drawn, on the page: in a form, which may be in others, it is told in the form's units."""
    box: Box = thing.get_bounds()
    while (thing := thing.container) is not None:
        box = thing.get_matrix().on_rect(*box)
    return box


def picture(document: Any, number: int) -> Image.Image:
    """Draw a page as it is shown."""
    with _page(document, number) as page:
        scale = min(DOTS_PER_INCH / 72, LONGEST_SIDE / max(*page.get_size(), 1.0))
        image: Image.Image = page.render(scale=scale).to_pil().convert("RGB")
    return image


def page_picture(path: Path, number: int) -> Image.Image:
    """Draw one page of a file."""
    with open_pdf(path) as document:
        if not 0 <= number < count_pages(document):
            raise DocumentError(f"{path}: has no page {number + 1}.")
        return picture(document, number)
