"""Bounding box operations. A box is (x0, y0, x1, y1) in page units, with the origin at the top left."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Box = tuple[float, float, float, float]
Boxes = NDArray[np.float64]  # [W, 4]

#: Minimum box width and height, as a fraction of the page.
MIN_EXTENT = 2e-4
#: If more words than both limits allow have their center outside the page, the page size is assumed to be wrong.
MAX_OUTSIDE_WORDS, MAX_OUTSIDE_FRACTION = 2, 0.02
#: The slope of text is estimated from at least this many pairs of consecutive words, also as a share of all words: in
#: random order, there are fewer. Their centers are at most this far apart, as a multiple of their height.
_MIN_WORD_PAIRS, _MIN_PAIR_SHARE, _MAX_WORD_GAP = 3, 0.1, 12.0
#: Slopes of text between which a page counts as tilted: 2 and 20 degrees. Models are trained on less tilted pages.
MIN_SLOPE, MAX_SLOPE = 0.04, 0.36
#: Pairs of words on a tilted page as a share of its words, the share of pairs that must agree on the slope, and how
#: much they may differ.
_MIN_TILT_SHARE, _MIN_AGREEMENT, _MAX_SLOPE_DIFFERENCE = 0.2, 0.6, 0.05
#: Gap between words of different segments, in text heights.
SEGMENT_GAP = 1.0


class BoxErrors(NamedTuple):
    """Masks of invalid boxes, one [W] mask per kind of error."""

    inverted: NDArray[np.bool_]
    outside: NDArray[np.bool_]
    flat: NDArray[np.bool_]


def repair_boxes(boxes: Boxes, width: float, height: float) -> tuple[Boxes, BoxErrors]:
    """Reorder the corners of inverted boxes, clip boxes to the page, and widen boxes without area.

    >>> repaired, errors = repair_boxes(np.array([[30.0, 10.0, 20.0, 12.0]]), 100, 100)
    >>> repaired.tolist(), errors.inverted.tolist()
    ([[20.0, 10.0, 30.0, 12.0]], [True])
    """
    page = np.array([width, height])
    low, high = boxes[:, :2], boxes[:, 2:]
    inverted = np.logical_or(*(low > high).T)
    low, high = np.minimum(low, high), np.maximum(low, high)
    outside = np.logical_or(*((low < 0) | (high > page)).T)
    low, high = np.clip(low, 0, page), np.clip(high, 0, page)
    extent = page * MIN_EXTENT
    flat_axis = high - low < extent  # [W, 2]
    if flat_axis.any():
        low = np.where(flat_axis, np.clip((low + high - extent) / 2, 0, page - extent), low)
        high = np.where(flat_axis, low + extent, high)
    return np.concatenate([low, high], axis=1), BoxErrors(inverted, outside, np.logical_or(*flat_axis.T))


def rotate_boxes(boxes: Boxes, degrees: int, width: float, height: float) -> Boxes:
    """Return the boxes on a page of this size after it is turned clockwise by a multiple of 90 degrees.

    >>> rotate_boxes(np.array([[10.0, 0.0, 30.0, 5.0]]), 90, width=100, height=50).tolist()
    [[45.0, 10.0, 50.0, 30.0]]
    """
    x0, y0, x1, y1 = boxes.T
    corners = {
        0: (x0, y0, x1, y1),
        90: (height - y1, x0, height - y0, x1),
        180: (width - x1, height - y1, width - x0, height - y0),
        270: (y0, width - x1, y1, width - x0),
    }
    return np.stack(corners[degrees % 360], axis=1)


def infer_page_size(boxes: Boxes) -> tuple[float, float]:
    """Infer the page size from its words, assuming symmetric margins."""
    if len(boxes) == 0:
        return 1.0, 1.0
    edges = boxes.reshape(-1, 2)
    low, high = np.maximum(edges.min(axis=0), 0), np.maximum(edges.max(axis=0), 0)
    size = np.maximum(low + high, 1.0)
    return float(size[0]), float(size[1])


def correct_page_size(boxes: Boxes, width: float, height: float) -> tuple[float, float]:
    """Return the page size, corrected if too many word centers lie outside it.

    Text layers of rotated pages often have width and height swapped. One or two words outside the page do not change
    its size.
    """
    centers = (boxes[:, :2] + boxes[:, 2:]) / 2

    def fits(width: float, height: float) -> bool:
        outside = int((centers > (width, height)).any(axis=1).sum())
        return outside <= max(MAX_OUTSIDE_WORDS, MAX_OUTSIDE_FRACTION * len(boxes))

    if fits(width, height):
        return width, height
    if fits(height, width):
        return height, width
    grown = np.maximum(boxes.reshape(-1, 2).max(axis=0), (width, height))
    return float(grown[0]), float(grown[1])


def split_line(text: str, box: Box) -> tuple[Sequence[str], Sequence[Box]]:
    """Split a line into words and divide its box in proportion to their characters.

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
    """Return one box per line of text covered by words in reading order.

    A word continues the current line if its vertical center lies within the line and it is not left of the line.
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


def text_slope(boxes: Boxes) -> float:
    """Estimate how much lines of text drop per unit of width, from words next to each other; 0 with too few of them.

    >>> text_slope(np.array([[x, 0.05 * x, x + 9, 0.05 * x + 10] for x in range(0, 60, 10)]))
    0.05
    """
    slopes, weights = _word_slopes(boxes, 0.5)
    return _weighted_median(slopes, weights) if len(slopes) else 0.0


def _word_slopes(boxes: Boxes, shared_height: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the slopes from words to the next ones on their line, which share so much of their height, and weights.

    Both are empty if there are too few.
    """
    centers, heights = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 3] - boxes[:, 1]
    run, drop = (centers[1:] - centers[:-1]).T
    overlap = np.minimum(boxes[1:, 3], boxes[:-1, 3]) - np.maximum(boxes[1:, 1], boxes[:-1, 1])
    height = np.minimum(heights[1:], heights[:-1])
    is_pair = (run > 0) & (run < _MAX_WORD_GAP * height) & (overlap > shared_height * height)
    if is_pair.sum() < max(_MIN_WORD_PAIRS, _MIN_PAIR_SHARE * len(boxes)):
        return np.empty(0), np.empty(0)
    return drop[is_pair] / run[is_pair], run[is_pair]


def _weighted_median(values: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])


def _tilt(boxes: Boxes) -> float:
    """Return the slope of text if most words agree on it, else 0. Long words on very tilted pages share less height."""
    for shared_height in (0.5, 0.4):
        slopes, weights = _word_slopes(boxes, shared_height)
        if len(slopes) >= _MIN_TILT_SHARE * len(boxes) > 0:
            median = _weighted_median(slopes, weights)
            agreeing = weights[np.abs(slopes - median) < _MAX_SLOPE_DIFFERENCE].sum() / weights.sum()
            return median if agreeing >= _MIN_AGREEMENT else 0.0
    return 0.0


def level_boxes(boxes: Boxes) -> Boxes:
    """Return the boxes as they would be if the text were level: turned back, and without what tilt adds to their size.

    >>> level_boxes(np.array([[x, 0.1 * x, x + 9, 0.1 * x + 10] for x in range(0, 60, 10)])).round(1)[:, 1].tolist()
    [2.9, 2.9, 2.9, 2.9, 2.9, 2.9]
    """
    slope = _tilt(boxes)
    if not MIN_SLOPE < abs(slope) < MAX_SLOPE:
        return boxes
    cos, sin = 1 / np.hypot(1, slope), slope / np.hypot(1, slope)
    centers, sizes = (boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]
    middle = centers.mean(axis=0)
    centers = (centers - middle) @ np.array([[cos, -sin], [sin, cos]]) + middle
    # A tilted rectangle w × h has a bounding box of w·cos + h·sin by w·sin + h·cos. Short words are not exact enough.
    inverse = np.array([[cos, -abs(sin)], [-abs(sin), cos]]) / (cos**2 - sin**2)
    half = np.maximum(sizes @ inverse, sizes * (0.5, 0.3)) / 2
    return np.concatenate([centers - half, centers + half], axis=1)


def raster_order(boxes: Boxes) -> NDArray[np.intp]:
    """Return word indices sorted top to bottom by line, and left to right within each line: [W].

    >>> raster_order(np.array([[50.0, 1, 60, 11], [0, 0, 10, 10], [0, 20, 10, 30]])).tolist()
    [1, 0, 2]
    """
    return np.lexsort((boxes[:, 0], line_numbers(boxes)))


def segment_numbers(boxes: Boxes) -> NDArray[np.intp]:
    """Return the segment of each word, counted in raster order: words of a line without wide gaps between them: [W].

    >>> segment_numbers(np.array([[50.0, 1, 60, 11], [0, 0, 10, 10], [12, 0, 20, 10], [0, 20, 10, 30]])).tolist()
    [1, 0, 0, 2]
    """
    if len(boxes) == 0:
        return np.empty(0, np.intp)
    order = raster_order(boxes)
    left, _, right, _ = boxes[order].T
    is_gap = left[1:] - right[:-1] > SEGMENT_GAP * np.median(boxes[:, 3] - boxes[:, 1])
    numbers = np.empty(len(boxes), np.intp)
    numbers[order] = np.cumsum(np.concatenate([[0], is_gap | (np.diff(line_numbers(boxes)[order]) > 0)]))
    return numbers


def merge_boxes(boxes: Boxes, groups: NDArray[np.intp]) -> Boxes:
    """Return the box around all words of each word's group; groups are numbered from 0 without omissions: [W, 4]."""
    low = np.full((groups.max(initial=-1) + 1, 2), np.inf)
    high = -low
    np.minimum.at(low, groups, boxes[:, :2])
    np.maximum.at(high, groups, boxes[:, 2:])
    return np.concatenate([low, high], axis=1)[groups]


def line_numbers(boxes: Boxes) -> NDArray[np.intp]:
    """Return the line index of each word, counted from the top: [W].

    The topmost unassigned word starts a line, and words that overlap it vertically by about half a text height join
    it. Heights are capped at twice the median, so that a logo does not merge the lines next to it.
    """
    if len(boxes) == 0:
        return np.empty(0, np.intp)
    centers = (boxes[:, 1] + boxes[:, 3]) / 2
    heights = boxes[:, 3] - boxes[:, 1]
    median = float(np.median(heights))
    half_heights = np.clip(heights, median, 2 * median) / 2
    order = np.argsort(centers, kind="stable")
    sorted_centers, sorted_half_heights = centers[order], half_heights[order]
    lines = np.empty(len(boxes), np.intp)
    start = line = 0
    while start < len(boxes):  # one iteration per line
        stop = int(np.searchsorted(sorted_centers, sorted_centers[start] + sorted_half_heights[start], side="left"))
        stop = max(stop, start + 1)
        lines[order[start:stop]] = line
        start, line = stop, line + 1
    return lines
