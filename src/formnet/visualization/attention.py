"""Where words look, drawn over their page as in the paper's figure: a line a glance, a color a head."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from formnet.document import Page
from formnet.visualization.canvas import OVERSAMPLING, page_canvas
from formnet.visualization.overlay import PALETTE

#: Lines drawn for each word at most, and the least weight that is worth one.
STRONGEST, LEAST = 2, 0.15
_GAP, _PAPER = 40, (255, 255, 255)


def draw_attention(page: Page, weights: NDArray[np.float32], heads: Sequence[int]) -> Image.Image:
    """Draw the strongest glances [H, W, W] of some heads; the wider a line, the more weight it has."""
    canvas = page_canvas(page, 0.6)
    centers = (page.boxes[:, :2] + page.boxes[:, 2:]) / 2 * canvas.scale
    for head in heads:
        color = PALETTE[head % len(PALETTE)]
        glances = weights[head].copy()
        np.fill_diagonal(glances, 0)
        for word, row in enumerate(glances):
            for other in np.argsort(row)[::-1][:STRONGEST].tolist():
                if row[other] >= LEAST:
                    line = (*centers[word].tolist(), *centers[other].tolist())
                    canvas.pen.line(line, fill=color, width=max(round(6 * OVERSAMPLING * float(row[other])), 1))
    return canvas.finish()


def clearest_heads(weights: NDArray[np.float32], count: int) -> list[int]:
    """Choose the heads that look most decidedly at others than themselves."""
    others = weights * (1 - np.eye(weights.shape[-1], dtype=np.float32))
    order: list[int] = np.argsort(others.max(-1).mean(-1))[::-1].tolist()
    return order[:count]


def beside(pictures: Sequence[Image.Image]) -> Image.Image:
    """Put pictures of one height side by side."""
    width = sum(picture.width for picture in pictures) + _GAP * (len(pictures) - 1)
    together = Image.new("RGB", (width, max(picture.height for picture in pictures)), _PAPER)
    left = 0
    for picture in pictures:
        together.paste(picture, (left, 0))
        left += picture.width + _GAP
    return together
