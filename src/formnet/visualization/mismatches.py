"""A page with its correct, missed and spurious entities, as in the paper's figure."""

from collections.abc import Iterable

from PIL import Image, ImageDraw, ImageFont

from formnet.document import Page
from formnet.document.boxes import line_boxes
from formnet.visualization.canvas import OVERSAMPLING, page_canvas

#: Colors of frames; distinguishable with color blindness, as are the line widths.
CORRECT, MISSED, SPURIOUS = (0, 114, 178), (230, 159, 0), (204, 0, 102)

LabeledWords = Iterable[tuple[str, list[int]]]  # labels with word indices on the page


def draw_mismatches(page: Page, correct: LabeledWords, missed: LabeledWords, spurious: LabeledWords) -> Image.Image:
    """Draw a frame around every entity; missed entities are labeled above the frame, spurious ones below."""
    canvas = page_canvas(page)
    for entities, color, width, prefix in (
        (correct, CORRECT, 2, ""),
        (missed, MISSED, 5, "missed "),
        (spurious, SPURIOUS, 4, ""),
    ):
        is_spurious = color == SPURIOUS
        for label, words in entities:
            boxes = [tuple(c * canvas.scale for c in box) for box in line_boxes(page.boxes[words])]
            for box in boxes:
                frame = _expand(box, (7 if is_spurious else 3) * OVERSAMPLING)
                canvas.pen.rectangle(frame, outline=color, width=width * OVERSAMPLING)
            if prefix or is_spurious:
                _write(canvas.pen, boxes[0], f"{prefix}{label}", color, below=is_spurious)
    return canvas.finish()


def _expand(box: tuple[float, ...], margin: float) -> tuple[float, float, float, float]:
    x0, y0, x1, y1 = box
    return x0 - margin, y0 - margin, x1 + margin, y1 + margin


def _write(
    pen: ImageDraw.ImageDraw, box: tuple[float, ...], text: str, color: tuple[int, int, int], *, below: bool
) -> None:
    font = ImageFont.load_default(15 * OVERSAMPLING)
    point = (box[0], box[3] + 8 * OVERSAMPLING) if below else (box[0], box[1] - 8 * OVERSAMPLING)
    anchor = "lt" if below else "lb"
    pen.rectangle(pen.textbbox(point, text, font, anchor=anchor), fill=(255, 255, 255))
    pen.text(point, text, color, font, anchor=anchor)
