"""A page to draw on: the faded scan or, without one, the words in their bounding boxes."""

from contextlib import suppress
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

from formnet.document import Page
from formnet.errors import DocumentError
from formnet.io.page_image import load_page_image

#: Longer side of the image in pixels, and the factor by which it is drawn larger for antialiasing.
LONGER_SIDE = 2000
OVERSAMPLING = 2

_WHITE, _TEXT, _BOX = (255, 255, 255), (60, 60, 60), (226, 232, 240)


@dataclass
class Canvas:
    """An oversampled image; `scale` is pixels per page unit."""

    image: Image.Image
    scale: float

    @property
    def pen(self) -> ImageDraw.ImageDraw:
        """A drawing context for the image."""
        return ImageDraw.Draw(self.image)

    def finish(self) -> Image.Image:
        """Return the image at its final size."""
        width, height = self.image.size
        size = max(width // OVERSAMPLING, 1), max(height // OVERSAMPLING, 1)
        return self.image.resize(size, Image.Resampling.LANCZOS)


def page_canvas(page: Page, fade: float = 0.55) -> Canvas:
    """Draw a page's scan, blended with white by `fade`; without a readable scan, draw the words in their boxes."""
    scale = OVERSAMPLING * LONGER_SIDE / max(page.width, page.height)
    size = max(round(page.width * scale), 1), max(round(page.height * scale), 1)
    if page.image is not None:
        with suppress(DocumentError):
            return Canvas(_faded(load_page_image(page), size, fade), scale)
    canvas = Canvas(Image.new("RGB", size, _WHITE), scale)
    for text, (x0, y0, x1, y1) in zip(page.texts, (page.boxes * scale).tolist(), strict=True):
        canvas.pen.rectangle((x0, y0, x1, y1), fill=_BOX)
        font = fitting_font(text, x1 - x0, y1 - y0)
        canvas.pen.text(((x0 + x1) / 2, (y0 + y1) / 2), text, _TEXT, font, anchor="mm")
    return canvas


def fitting_font(text: str, width: float, height: float) -> ImageFont.ImageFont | ImageFont.FreeTypeFont:
    """Return the default font in the largest size at which the text fits its box."""
    size = max(height * 0.9, 4.0)
    text_width = ImageFont.load_default(size).getlength(text)
    return ImageFont.load_default(max(min(size, size * width / max(text_width, 1.0)), 4.0))


def _faded(scan: Image.Image, size: tuple[int, int], fade: float) -> Image.Image:
    resized = scan.resize(size, Image.Resampling.BICUBIC)
    return Image.blend(resized, Image.new("RGB", size, _WHITE), fade)
