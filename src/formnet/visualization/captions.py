"""Where the captions of frames go: beside their frame, over as little of what is written as can be."""

from collections.abc import Iterable, Sequence

import numpy as np
from PIL import ImageDraw, ImageFont

from formnet.visualization.canvas import OVERSAMPLING

Color = tuple[int, int, int]
Place = tuple[float, float, float, float]
_PAPER = (255, 255, 255)
_GAP = 2 * OVERSAMPLING


class Captions:
    """Writes captions on a picture; `taken` are the places that they should leave free."""

    def __init__(self, pen: ImageDraw.ImageDraw, size: tuple[int, int], taken: Iterable[Place]) -> None:
        self.pen = pen
        self.size = size
        self.font = ImageFont.load_default(19 * OVERSAMPLING)
        self.taken = np.array([*taken], dtype=np.float64).reshape(-1, 4)  # [places, 4]

    def write(self, frame: Place, text: str, color: Color) -> None:
        """Write beside a frame where least is covered, on paper of its own."""
        places = [(at, anchor, self.pen.textbbox(at, text, self.font, anchor=anchor)) for at, anchor in _around(frame)]
        inside = [place for place in places if self._holds(place[2])]
        at, anchor, place = min(inside or places, key=lambda place: self._covered(place[2]))
        self.pen.rectangle((place[0] - _GAP, place[1] - _GAP, place[2] + _GAP, place[3] + _GAP), fill=_PAPER)
        self.pen.text(at, text, color, self.font, anchor=anchor)
        self.taken = np.vstack([self.taken, place])

    def _holds(self, place: Place) -> bool:
        return place[0] >= 0 and place[1] >= 0 and place[2] <= self.size[0] and place[3] <= self.size[1]

    def _covered(self, place: Place) -> float:
        shared = np.minimum(self.taken[:, 2:], place[2:]) - np.maximum(self.taken[:, :2], place[:2])
        return float(shared.clip(min=0).prod(axis=1).sum())


def _around(frame: Place) -> Sequence[tuple[tuple[float, float], str]]:
    """Above, below, to the right, to the left, and at the right corners: points, with the text's anchor at them."""
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
