"""A page with what was found rightly, what was missed and what was made up, as in the paper's figure."""

from collections.abc import Iterable

from PIL import Image, ImageDraw, ImageFont

from formnet.document import Page
from formnet.document.boxes import line_boxes
from formnet.visualization.canvas import OVERSAMPLING, page_canvas

#: Right, missed and made up: apart for the color-blind, and by the width of their frames.
RIGHT, MISSED, MADE_UP = (0, 114, 178), (230, 159, 0), (204, 0, 102)

Marks = Iterable[tuple[str, list[int]]]  # labels with the words of the page


def draw_mismatches(page: Page, right: Marks, missed: Marks, made_up: Marks) -> Image.Image:
    """Draw a frame around every entity; what was missed has its label above it, what was made up below."""
    canvas = page_canvas(page)
    for marks, color, width, name in (
        (right, RIGHT, 2, ""),
        (missed, MISSED, 5, "missed "),
        (made_up, MADE_UP, 4, ""),
    ):
        for label, words in marks:
            boxes = [tuple(c * canvas.scale for c in box) for box in line_boxes(page.boxes[words])]
            for box in boxes:
                canvas.pen.rectangle(_grown(box, color == MADE_UP), outline=color, width=width * OVERSAMPLING)
            if name or color == MADE_UP:
                _write(canvas.pen, boxes[0], f"{name}{label}", color, below=color == MADE_UP)
    return canvas.finish()


def _grown(box: tuple[float, ...], more: bool) -> tuple[float, float, float, float]:
    by = (7 if more else 3) * OVERSAMPLING
    x0, y0, x1, y1 = box
    return x0 - by, y0 - by, x1 + by, y1 + by


def _write(
    pen: ImageDraw.ImageDraw, box: tuple[float, ...], text: str, color: tuple[int, int, int], *, below: bool
) -> None:
    font = ImageFont.load_default(15 * OVERSAMPLING)
    at = (box[0], box[3] + 8 * OVERSAMPLING) if below else (box[0], box[1] - 8 * OVERSAMPLING)
    anchor = "lt" if below else "lb"
    pen.rectangle(pen.textbbox(at, text, font, anchor=anchor), fill=(255, 255, 255))
    pen.text(at, text, color, font, anchor=anchor)
