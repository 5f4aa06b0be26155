"""Page images as a camera might see them: turned, tilted or in perspective."""

from typing import Literal
from zlib import crc32

import numpy as np
from PIL import Image

from formnet.io.images import turn

#: How a page is seen: turned clockwise by a multiple of 90 degrees, tilted by up to `MAX_TILT` degrees, or from a side.
View = Literal["upright", "90", "180", "270", "tilted", "perspective"]
#: Views that are turned without loss.
TURNED: tuple[View, ...] = ("90", "180", "270")

MAX_TILT = 10.0
#: How far the corners move in perspective, as a share of the page's width and height.
MAX_SHIFT = 0.08


def change_view(image: Image.Image, view: View, seed: str) -> Image.Image:
    """Return the image of a page in a view; the same seed gives the same tilt or perspective."""
    generator = np.random.default_rng(crc32(seed.encode()))
    if view == "tilted":
        angle = generator.uniform(-MAX_TILT, MAX_TILT)
        return image.rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=(255, 255, 255))
    if view == "perspective":
        return _move_corners(image, generator.uniform(0, MAX_SHIFT, (4, 2)))
    return image if view == "upright" else turn(image, int(view))


def _move_corners(image: Image.Image, shifts: np.ndarray) -> Image.Image:
    """Move each corner inward by its shift, given as shares of width and height."""
    width, height = image.size
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float)
    inward = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]], float)
    source = corners * (width, height)
    target = (corners + inward * shifts) * (width, height)
    return image.transform(
        image.size,
        Image.Transform.PERSPECTIVE,
        _perspective(target, source),
        Image.Resampling.BICUBIC,
        fillcolor=(255, 255, 255),
    )


def _perspective(points: np.ndarray, images: np.ndarray) -> list[float]:
    """Return the eight coefficients of the projective map from four points to four others, as Pillow expects them."""
    rows = []
    for (x, y), (u, v) in zip(points, images, strict=True):
        rows += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
    coefficients: list[float] = np.linalg.solve(np.array(rows), images.reshape(-1)).tolist()
    return coefficients
