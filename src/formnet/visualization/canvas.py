"""A page to draw on: the scan, paled, or the words themselves where there is none."""

from contextlib import suppress
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from formnet.document import Page
from formnet.errors import DocumentError
from formnet.io.page_image import scan_of

#: The picture's longer side; everything is drawn twice as large and made smaller, for smooth lines.
LONGER_SIDE = 2000
OVERSAMPLING = 2

_PAPER, _INK, _BOX = (255, 255, 255), (60, 60, 60), (226, 232, 240)


@dataclass
class Canvas:
    """A picture in the making; `scale` turns page units into its pixels."""

    image: Image.Image
    scale: float

    @property
    def pen(self) -> ImageDraw.ImageDraw:
        """What to draw with."""
        return ImageDraw.Draw(self.image)

    def finish(self) -> Image.Image:
        """Give the picture at its size."""
        width, height = self.image.size
        size = max(width // OVERSAMPLING, 1), max(height // OVERSAMPLING, 1)
        return self.image.resize(size, Image.Resampling.LANCZOS)


def page_canvas(page: Page, paleness: float = 0.55) -> Canvas:
    """Lay out a page: its scan made paler or, without one that can be opened, its words written into their boxes."""
    scale = OVERSAMPLING * LONGER_SIDE / max(page.width, page.height)
    size = max(round(page.width * scale), 1), max(round(page.height * scale), 1)
    if page.image is not None:
        with suppress(DocumentError):
            return Canvas(_pale(scan_of(page), size, paleness), scale)
    canvas = Canvas(Image.new("RGB", size, _PAPER), scale)
    for text, (x0, y0, x1, y1) in zip(page.texts, (page.boxes * scale).tolist(), strict=True):
        canvas.pen.rectangle((x0, y0, x1, y1), fill=_BOX)
        font = fitting_font(text, x1 - x0, y1 - y0)
        canvas.pen.text(((x0 + x1) / 2, (y0 + y1) / 2), text, _INK, font, anchor="mm")
    return canvas


def fitting_font(text: str, width: float, height: float) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """Give the largest type in which a text fits its box."""
    size = max(height * 0.9, 4.0)
    needed = ImageFont.load_default(size).getlength(text)
    return ImageFont.load_default(max(min(size, size * width / max(needed, 1.0)), 4.0))


def _pale(scan: Image.Image, size: tuple[int, int], paleness: float) -> Image.Image:
    resized = scan.resize(size, Image.Resampling.BICUBIC)
    return Image.blend(resized, Image.new("RGB", size, _PAPER), paleness)
