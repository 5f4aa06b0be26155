"""Pictures of pages: opened within limits, turned as the camera says, one frame at a time."""

import struct
import threading
import warnings
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import cast

from PIL import Image, ImageOps

from formnet.errors import DocumentError, LimitError

#: Pictures of more pixels than this are refused rather than unpacked.
MOST_PIXELS = 100_000_000
#: A file with more pages than this should be split.
MOST_PAGES = 2_000
#: No file larger than this is opened.
MOST_BYTES = 512 * 2**20
_ORIENTATION = 0x0112
_FILTERS = threading.RLock()
#: What a scan may be; formats that run programs are not among them.
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")


def frames(path: Path) -> Iterator[Image.Image]:
    """Give the pictures in a file one by one: a TIFF may hold many."""
    with _opened(path) as image:
        # What moves, or has a smaller copy beside it, is not a stack of pages.
        for number in range(_count(path, image) if image.format == "TIFF" else 1):
            yield _frame(path, image, number)


def _count(path: Path, image: Image.Image) -> int:
    """Count the pages of a TIFF, of which too many are not even gone through."""
    with _quiet():
        for number in range(1, MOST_PAGES + 1):
            try:
                image.seek(number)
            except EOFError:
                image.seek(0)
                return number
    raise LimitError(f"{path}: has more than {MOST_PAGES:,} pages, which is the limit. Split it.")


def frame(path: Path, number: int = 0) -> Image.Image:
    """Give one picture of a file."""
    with _opened(path) as image:
        return _frame(path, image, number)


def size_of(path: Path) -> tuple[int, int] | None:
    """Give the size of a file's first picture, turned as the camera says; nothing if there is no file."""
    if not path.is_file():
        return None
    with _opened(path) as image:
        width, height = image.size
        with _quiet():
            # Pillow itself turns TIFF, and tells the size that it then has.
            on_its_side = image.format != "TIFF" and image.getexif().get(_ORIENTATION, 1) >= 5
        return (height, width) if on_its_side else (width, height)


@contextmanager
def _opened(path: Path) -> Iterator[Image.Image]:
    refuse_large(path)
    try:
        with path.open("rb") as file:  # Pillow maps what it opens by name, and then turns TIFF wrongly
            with _quiet():
                image = Image.open(file, formats=FORMATS)
            with image:
                yield image
    except (OSError, ValueError, SyntaxError, TypeError, LookupError, ArithmeticError, EOFError, struct.error) as error:
        raise DocumentError(f"{path}: cannot be opened as an image: {str(error).rstrip('.')}.") from error
    except Image.DecompressionBombError as error:
        raise LimitError(f"{path}: unpacks to too many pixels: {str(error).rstrip('.')}.") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Pillow from warning of odd metadata; what matters is raised. Filters are the process's: one at a time."""
    with _FILTERS, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _frame(path: Path, image: Image.Image, number: int) -> Image.Image:
    with _quiet():
        if number:
            image.seek(number)
        return _as_seen(path, image)


def _as_seen(path: Path, image: Image.Image) -> Image.Image:
    """Give what a person would see: turned, on white paper, in eight bits a color."""
    if image.width * image.height > MOST_PIXELS:
        told = f"has {image.width:,} × {image.height:,} pixels; the limit is {MOST_PIXELS:,}"
        raise LimitError(f"{path}: {told}. Save it smaller.")
    turned = ImageOps.exif_transpose(image)
    if turned.mode in ("RGBA", "LA", "PA") or "transparency" in turned.info:  # what is clear is paper
        turned = turned.convert("RGBA")
        paper = Image.new("RGBA", turned.size, (255, 255, 255, 255))
        turned = Image.alpha_composite(paper, turned)
    if turned.mode.startswith("I") or turned.mode == "F":  # more than eight bits, which would be cut off
        turned = turned.convert("F")
        low, high = cast(tuple[float, float], turned.getextrema())
        scale = 255 / (high - low) if high > low else 0.0
        turned = turned.point(lambda light: light * scale + (255 - high * scale)).convert("L")
    return turned.convert("RGB")


def data_url(image: Image.Image, side: int = 1400) -> str:
    """Give a picture as a browser takes it within a page, no longer than so many pixels."""
    small = image.copy()
    small.thumbnail((side, side))
    jpeg = BytesIO()
    small.save(jpeg, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{b64encode(jpeg.getvalue()).decode()}"


def refuse_large(path: Path) -> None:
    """Refuse a file that is not there, empty or too large, before anything reads it."""
    if not path.is_file():
        raise DocumentError(f"{path}: {'is a folder, not a file' if path.is_dir() else 'no such file'}.")
    size = path.stat().st_size
    if size == 0:
        raise DocumentError(f"{path}: is empty.")
    if size > MOST_BYTES:
        told = f"has {size >> 20:,} MiB; the limit is {MOST_BYTES >> 20} MiB"
        raise LimitError(f"{path}: {told}. Save it smaller, or split it.")
