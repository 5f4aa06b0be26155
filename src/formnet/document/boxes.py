"""Box arithmetic. A box is always (x0, y0, x1, y1), origin top left, in the units of its page."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
Boxes = NDArray[np.float64]  # [W, 4]

#: A box with no extent along an axis is grown to this share of the page along it.
SMALLEST_SHARE = 2e-4
#: More words than this, and more than this share, with their middle outside the page: its size is wrong, not they.
TOLERATED_WORDS, TOLERATED_SHARE = 2, 0.02


class Flaws(NamedTuple):
    """Which boxes were wrong and how: one mask [W] a kind."""

    inverted: NDArray[np.bool_]
    outside: NDArray[np.bool_]
    flat: NDArray[np.bool_]


def repair(boxes: Boxes, width: float, height: float) -> tuple[Boxes, Flaws]:
    """Turn inverted boxes round, clip to the page, give flat boxes a little extent.

    >>> fixed, flaws = repair(np.array([[30.0, 10.0, 20.0, 12.0]]), 100, 100)
    >>> fixed.tolist(), flaws.inverted.tolist()
    ([[20.0, 10.0, 30.0, 12.0]], [True])
    """
    page = np.array([width, height])
    low, high = boxes[:, :2], boxes[:, 2:]
    inverted = np.logical_or(*(low > high).T)
    low, high = np.minimum(low, high), np.maximum(low, high)
    outside = np.logical_or(*((low < 0) | (high > page)).T)
    low, high = np.clip(low, 0, page), np.clip(high, 0, page)
    extent = page * SMALLEST_SHARE
    flat_axis = high - low < extent  # [W, 2]
    if flat_axis.any():
        low = np.where(flat_axis, np.clip((low + high - extent) / 2, 0, page - extent), low)
        high = np.where(flat_axis, low + extent, high)
    return np.concatenate([low, high], axis=1), Flaws(inverted, outside, np.logical_or(*flat_axis.T))


def page_size(boxes: Boxes) -> tuple[float, float]:
    """Guess the page around words when nothing else tells: as much margin after them as before."""
    if len(boxes) == 0:
        return 1.0, 1.0
    edges = boxes.reshape(-1, 2)
    low, high = np.maximum(edges.min(axis=0), 0), np.maximum(edges.max(axis=0), 0)
    size = np.maximum(low + high, 1.0)
    return float(size[0]), float(size[1])


def fitting_size(boxes: Boxes, width: float, height: float) -> tuple[float, float]:
    """Give the page's size, mended if more than a few words' middles lie outside it.

    Text layers of turned pages often carry the sides swapped; a word or two outside is a bad word, not a bad page.
    """

    middle = (boxes[:, :2] + boxes[:, 2:]) / 2

    def fits(width: float, height: float) -> bool:
        outside = int((middle > (width, height)).any(axis=1).sum())
        return outside <= max(TOLERATED_WORDS, TOLERATED_SHARE * len(boxes))

    if fits(width, height):
        return width, height
    if fits(height, width):
        return height, width
    grown = np.maximum(boxes.reshape(-1, 2).max(axis=0), (width, height))
    return float(grown[0]), float(grown[1])


def split_line(text: str, box: Box) -> tuple[Sequence[str], Sequence[Box]]:
    """Split a line into words, each with its share of the line's width by characters.

    >>> split_line("to 9.00", (0, 0, 70, 10))
    (['to', '9.00'], [(0.0, 0, 20.0, 10), (30.0, 0, 70.0, 10)])
    """
    x0, y0, x1, y1 = box
    text = text.strip()
    words = text.split()
    step = (x1 - x0) / max(len(text), 1)
    boxes: list[Box] = []
    end = 0
    for word in words:
        start = text.index(word, end)
        end = start + len(word)
        boxes.append((x0 + step * start, y0, x0 + step * end, y1))
    return words, boxes


def line_boxes(boxes: Boxes) -> tuple[Box, ...]:
    """Give one box for each line of text that words, in reading order, run over.

    A word goes on with the line if its middle is within the line's height and it does not jump back.
    """
    lines: list[list[float]] = []
    for x0, y0, x1, y1 in boxes.tolist():
        if lines:
            line = lines[-1]
            if line[1] <= (y0 + y1) / 2 <= line[3] and x1 > line[0]:
                lines[-1] = [min(line[0], x0), min(line[1], y0), max(line[2], x1), max(line[3], y1)]
                continue
        lines.append([x0, y0, x1, y1])
    return tuple((a, b, c, d) for a, b, c, d in lines)


def raster(boxes: Boxes) -> NDArray[np.intp]:
    """Order words line by line, top to bottom, and left to right in a line: [W].

    >>> raster(np.array([[50.0, 1, 60, 11], [0, 0, 10, 10], [0, 20, 10, 30]])).tolist()
    [1, 0, 2]
    """
    return np.lexsort((boxes[:, 0], line_numbers(boxes)))


def line_numbers(boxes: Boxes) -> NDArray[np.intp]:
    """Number the line of each word, from the top: [W].

    The topmost word left over opens a line; those that overlap it vertically by about half a text height belong
    to it. Words larger than twice the usual height count as that high, so that a logo does not swallow lines.
    """
    if len(boxes) == 0:
        return np.empty(0, np.intp)
    middle = (boxes[:, 1] + boxes[:, 3]) / 2
    height = boxes[:, 3] - boxes[:, 1]
    usual = float(np.median(height))
    reach = np.clip(height, usual, 2 * usual) / 2
    by_middle = np.argsort(middle, kind="stable")
    sorted_middle, sorted_reach = middle[by_middle], reach[by_middle]
    line = np.empty(len(boxes), np.intp)
    start = number = 0
    while start < len(boxes):  # a step a line, not a word
        stop = int(np.searchsorted(sorted_middle, sorted_middle[start] + sorted_reach[start], side="left"))
        stop = max(stop, start + 1)
        line[by_middle[start:stop]] = number
        start, number = stop, number + 1
    return line
