"""Attention weights between words, drawn over the page as in the paper's figure: one color per head."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from formnet.document import Page
from formnet.visualization.canvas import OVERSAMPLING, page_canvas
from formnet.visualization.overlay import PALETTE

#: Maximum lines per word, and minimum attention weight of a line.
MAX_LINES, MIN_WEIGHT = 2, 0.15
_GAP, _WHITE = 40, (255, 255, 255)


def draw_attention(page: Page, weights: NDArray[np.float32], heads: Sequence[int]) -> Image.Image:
    """Draw the largest weights [H, W, W] of the chosen heads; the line width is proportional to the weight."""
    canvas = page_canvas(page, 0.6)
    centers = (page.boxes[:, :2] + page.boxes[:, 2:]) / 2 * canvas.scale
    for head in heads:
        color = PALETTE[head % len(PALETTE)]
        head_weights = weights[head].copy()
        np.fill_diagonal(head_weights, 0)
        for word, row in enumerate(head_weights):
            for other in np.argsort(row)[::-1][:MAX_LINES].tolist():
                if row[other] >= MIN_WEIGHT:
                    line = (*centers[word].tolist(), *centers[other].tolist())
                    canvas.pen.line(line, fill=color, width=max(round(6 * OVERSAMPLING * float(row[other])), 1))
    return canvas.finish()


def most_focused_heads(weights: NDArray[np.float32], count: int) -> list[int]:
    """Return the heads with the largest mean maximum weight on other words."""
    others = weights * (1 - np.eye(weights.shape[-1], dtype=np.float32))
    order: list[int] = np.argsort(others.max(-1).mean(-1))[::-1].tolist()
    return order[:count]


def side_by_side(images: Sequence[Image.Image]) -> Image.Image:
    """Combine images into one row."""
    width = sum(image.width for image in images) + _GAP * (len(images) - 1)
    combined = Image.new("RGB", (width, max(image.height for image in images)), _WHITE)
    left = 0
    for image in images:
        combined.paste(image, (left, 0))
        left += image.width + _GAP
    return combined
