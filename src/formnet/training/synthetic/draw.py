"""Pictures of synthetic documents: each word drawn into its box, with the blur and noise of a scan."""

import unicodedata
from typing import cast

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from formnet.document import Page

#: Font with accented letters, if it is installed.
FONT = "DejaVuSansMono.ttf"
#: Minimum height of words in pixels; OCR engines misread smaller ones.
_MIN_HEIGHT = 20.0


def draw_page(page: Page, generator: np.random.Generator) -> Image.Image:
    """Draw the words of a page in dark gray on light paper, at a size that OCR can read."""
    heights = page.boxes[:, 3] - page.boxes[:, 1]
    scale = max(1.0, _MIN_HEIGHT / float(np.median(heights))) if len(heights) else 1.0
    paper = Image.new("L", (round(page.width * scale), round(page.height * scale)), int(generator.integers(225, 256)))
    darkness = int(generator.integers(10, 70))
    for text, box in zip(page.texts, (page.boxes * scale).tolist(), strict=True):
        x0, y0, x1, y1 = box
        word = _draw_word(text, y1 - y0).resize((max(round(x1 - x0), 1), max(round(y1 - y0), 1)))
        ink = Image.new("L", word.size, darkness + int(generator.integers(0, 15)))
        paper.paste(ink, (round(x0), round(y0)), word)
    pixels = np.asarray(paper.filter(ImageFilter.GaussianBlur(generator.uniform(0.2, 0.8))), np.float64)
    noisy = pixels + generator.normal(0, generator.uniform(1, 8), pixels.shape)
    return Image.fromarray(noisy.clip(0, 255).astype(np.uint8))


def _draw_word(text: str, height: float) -> Image.Image:
    """Return a mask of a word, cropped to the width of its characters and the height of its line."""
    size = max(round(height), 8)
    try:
        font = ImageFont.truetype(FONT, size)
    except OSError:  # Pillow's own font has only ASCII characters
        font = cast(ImageFont.FreeTypeFont, ImageFont.load_default(size))
        text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() or "-"
    left, _, right, _ = font.getbbox(text)
    mask = Image.new("L", (max(round(right - left), 1), sum(font.getmetrics())), 0)
    ImageDraw.Draw(mask).text((-left, 0), text, 255, font)
    return mask
