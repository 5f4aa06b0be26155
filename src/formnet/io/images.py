"""Load images of pages within limits, upright, one frame at a time."""

import struct
import threading
import warnings
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import cast

from PIL import Image, ImageOps, UnidentifiedImageError

from formnet.errors import DocumentError, LimitError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits, check_file

#: Accepted formats. Formats that Pillow decodes with external programs are excluded.
FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "BMP", "GIF")

_EXIF_ORIENTATION = 0x0112
_WARNINGS_LOCK = threading.RLock()


def iter_frames(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Image.Image]:
    """Iterate over the pages in an image file; only TIFF files have more than one."""
    with _open(path, limits) as image:
        # In other formats, more frames are an animation or a preview.
        num_frames = _check_frames(path, image, limits) if image.format == "TIFF" else 1
        for number in range(num_frames):
            yield _load_frame(path, image, number, limits)


def _check_frames(path: Path, image: Image.Image, limits: ReadLimits) -> int:
    """Count the frames of a TIFF without decoding them; raise if there are too many or they have too many pixels."""
    pixels = 0
    with _ignore_warnings():
        for number in range(1, limits.max_pages + 1):
            pixels += image.width * image.height
            if pixels > limits.max_file_pixels:
                raise LimitError(f"{path}: more than {limits.max_file_pixels:,} pixels (the limit). Split the file.")
            try:
                image.seek(number)
            except EOFError:
                image.seek(0)
                return number
    raise LimitError(f"{path}: more than {limits.max_pages:,} pages (the limit). Split the file.")


def load_frame(path: Path, number: int = 0, limits: ReadLimits = DEFAULT_LIMITS) -> Image.Image:
    """Load one frame of an image file."""
    with _open(path, limits) as image:
        return _load_frame(path, image, number, limits)


def image_size(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> tuple[int, int] | None:
    """Return the width and height of the first frame after EXIF rotation, or None if the file does not exist."""
    if not path.is_file():
        return None
    with _open(path, limits) as image:
        width, height = image.size
        with _ignore_warnings():
            # Pillow rotates TIFF files on load and reports the size after rotation.
            is_sideways = image.format != "TIFF" and image.getexif().get(_EXIF_ORIENTATION, 1) >= 5
        return (height, width) if is_sideways else (width, height)


@contextmanager
def _open(path: Path, limits: ReadLimits) -> Iterator[Image.Image]:
    check_file(path, limits)
    try:
        # Given a path, Pillow memory-maps the file and then rotates TIFF incorrectly.
        with path.open("rb") as file:
            with _ignore_warnings():
                image = Image.open(file, formats=FORMATS)
            with image:
                yield image
    except UnidentifiedImageError as error:
        raise DocumentError(f"{path}: cannot be opened as an image: it is damaged or in another format.") from error
    except (OSError, ValueError, SyntaxError, TypeError, LookupError, ArithmeticError, EOFError, struct.error) as error:
        raise DocumentError(f"{path}: cannot be opened as an image: {str(error).rstrip('.')}.") from error
    except Image.DecompressionBombError as error:
        raise LimitError(f"{path}: too many pixels: {str(error).rstrip('.')}.") from error


@contextmanager
def _ignore_warnings() -> Iterator[None]:
    """Silence Pillow's metadata warnings. Filters are global to the process, hence the lock."""
    with _WARNINGS_LOCK, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _load_frame(path: Path, image: Image.Image, number: int, limits: ReadLimits) -> Image.Image:
    with _ignore_warnings():
        if number:
            image.seek(number)
        return _normalize(path, image, limits)


def _normalize(path: Path, image: Image.Image, limits: ReadLimits) -> Image.Image:
    """Convert an image to 8-bit RGB: upright, transparency on white, deep grayscale stretched to full contrast."""
    if image.width * image.height > limits.max_pixels:
        raise LimitError(
            f"{path}: {image.width:,} × {image.height:,} pixels (limit {limits.max_pixels:,}). Reduce the resolution."
        )
    upright = ImageOps.exif_transpose(image)
    if upright.mode in ("RGBA", "LA", "PA") or "transparency" in upright.info:
        upright = upright.convert("RGBA")
        background = Image.new("RGBA", upright.size, (255, 255, 255, 255))
        upright = Image.alpha_composite(background, upright)
    # Pillow clips more than 8 bits instead of scaling them.
    if upright.mode.startswith("I") or upright.mode == "F":
        upright = upright.convert("F")
        low, high = cast(tuple[float, float], upright.getextrema())
        scale = 255 / (high - low) if high > low else 0.0
        upright = upright.point(lambda value: value * scale + (255 - high * scale)).convert("L")
    return upright.convert("RGB")


def turn(image: Image.Image, degrees: int) -> Image.Image:
    """Return the image turned clockwise by a multiple of 90 degrees, without loss."""
    if degrees % 360 == 0:
        return image
    turns = {90: Image.Transpose.ROTATE_270, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_90}
    return image.transpose(turns[degrees % 360])  # Pillow counts counterclockwise


def data_url(image: Image.Image, max_side: int = 1400) -> str:
    """Return an image as a JPEG data URL, scaled down so that no side exceeds `max_side` pixels."""
    thumbnail = image.copy()
    thumbnail.thumbnail((max_side, max_side))
    jpeg = BytesIO()
    thumbnail.save(jpeg, "JPEG", quality=80)
    return f"data:image/jpeg;base64,{b64encode(jpeg.getvalue()).decode()}"
