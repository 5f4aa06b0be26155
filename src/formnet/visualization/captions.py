"""Caption placement: next to a frame, where the caption covers as little text as possible."""

from collections.abc import Iterable, Sequence

import numpy as np
from PIL import ImageDraw, ImageFont

from formnet.visualization.canvas import OVERSAMPLING

Color = tuple[int, int, int]
Rectangle = tuple[float, float, float, float]
_WHITE = (255, 255, 255)
_GAP = 2 * OVERSAMPLING


class Captions:
    """Draws captions on an image; `occupied` are rectangles to avoid."""

    def __init__(self, pen: ImageDraw.ImageDraw, size: tuple[int, int], occupied: Iterable[Rectangle]) -> None:
        self.pen = pen
        self.size = size
        self.font = ImageFont.load_default(19 * OVERSAMPLING)
        self.occupied = np.array([*occupied], dtype=np.float64).reshape(-1, 4)  # [N, 4]

    def write(self, frame: Rectangle, text: str, color: Color) -> None:
        """Draw a caption on a white background at the position next to the frame with the least overlap."""
        candidates = [
            (point, anchor, self.pen.textbbox(point, text, self.font, anchor=anchor))
            for point, anchor in _positions(frame)
        ]
        inside = [candidate for candidate in candidates if self._is_inside(candidate[2])]
        point, anchor, box = min(inside or candidates, key=lambda candidate: self._overlap(candidate[2]))
        self.pen.rectangle((box[0] - _GAP, box[1] - _GAP, box[2] + _GAP, box[3] + _GAP), fill=_WHITE)
        self.pen.text(point, text, color, self.font, anchor=anchor)
        self.occupied = np.vstack([self.occupied, box])

    def _is_inside(self, box: Rectangle) -> bool:
        return box[0] >= 0 and box[1] >= 0 and box[2] <= self.size[0] and box[3] <= self.size[1]

    def _overlap(self, box: Rectangle) -> float:
        shared = np.minimum(self.occupied[:, 2:], box[2:]) - np.maximum(self.occupied[:, :2], box[:2])
        return float(shared.clip(min=0).prod(axis=1).sum())


def _positions(frame: Rectangle) -> Sequence[tuple[tuple[float, float], str]]:
    """Return candidate points with text anchors: above, below, right, left, and at the right corners."""
    x0, y0, x1, y1 = frame
    middle = (y0 + y1) / 2
    return (
        ((x0, y0 - _GAP), "lb"),
        ((x0, y1 + _GAP), "lt"),
        ((x1 + _GAP, middle), "lm"),
        ((x0 - _GAP, middle), "rm"),
        ((x1, y0 - _GAP), "rb"),
        ((x1, y1 + _GAP), "rt"),
        ((x1 + _GAP, y0), "lb"),
        ((x1 + _GAP, y1), "lt"),
    )
