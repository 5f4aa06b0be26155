"""An annotation's results, put together by region and checked: from here on nothing is missing or of the wrong kind."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.images import MOST_PAGES

_LABELS = ("rectanglelabels", "labels", "polygonlabels")
_KINDS = ("rectangle", "polygon", "textarea", *_LABELS)
_MOST_LABELS = 100
_OTHER_SHAPES = ("ellipselabels", "brushlabels", "keypointlabels")


@dataclass
class Region:
    """What the results of one id say together."""

    box: Box = (0.0, 0.0, 0.0, 0.0)  # as shares of the page
    page: int | None = None  # none if it was not drawn on one
    size: tuple[float, float] | None = None
    labels: dict[str, None] = field(default_factory=dict)  # in the order given
    lines: list[str] = field(default_factory=list)  # the text typed in


def read_regions(result: Sequence[dict[str, Any]], place: str) -> tuple[dict[str, Region], list[tuple[str, str]]]:
    """Give the regions drawn on pages by their ids, and the relations between them, question first."""
    regions: dict[str, Region] = {}
    relations: list[tuple[str, str]] = []
    for number, item in enumerate(result):
        where = f"{place}, result {number}"
        if item.get("type") == "relation":
            one, other = item.get("from_id"), item.get("to_id")
            if not isinstance(one, str) or not isinstance(other, str):
                raise DocumentError(f"{where}: a relation needs 'from_id' and 'to_id'.")
            relations.append((other, one) if item.get("direction") == "left" else (one, other))
        elif item.get("type") in _KINDS:
            name = item.get("id", f"#{number}")
            if not isinstance(name, str) or not isinstance(item.get("value"), dict):
                raise DocumentError(f"{where}: needs an 'id' that is a string, and a 'value' that is an object.")
            _add(regions.setdefault(name, Region()), item, where)
        elif item.get("type") in _OTHER_SHAPES:
            raise DocumentError(f"{where}: holds {item['type']}; draw rectangles or polygons, which words lie in.")
    for name, region in regions.items():
        if region.labels and region.page is None:
            raise DocumentError(f"{place}, region {name!r}: is no rectangle or polygon drawn on an image.")
    return {name: region for name, region in regions.items() if region.page is not None}, relations


def _add(region: Region, item: dict[str, Any], where: str) -> None:
    kind, value = item["type"], item["value"]
    if item.get("image_rotation"):
        raise DocumentError(f"{where}: was drawn on an image turned in Label Studio; turn the scan itself, then label.")
    if item.get("original_width") and item.get("original_height"):
        region.size = _side(item, "original_width", where), _side(item, "original_height", where)
    corners = _corners(value, region.size or (1.0, 1.0), where)
    if corners:
        low, high = np.min(corners, axis=0).tolist(), np.max(corners, axis=0).tolist()
        region.box, region.page = (low[0] / 100, low[1] / 100, high[0] / 100, high[1] / 100), _page(item, where)
    if kind in _LABELS:
        region.labels.update(dict.fromkeys(_strings(value, kind, where)))
        if len(region.labels) > _MOST_LABELS:
            raise DocumentError(f"{where}: a region has more than {_MOST_LABELS} labels.")
    if kind == "textarea":
        region.lines += [line for text in _strings(value, "text", where) for line in text.splitlines() if line.strip()]


def _corners(value: dict[str, Any], size: tuple[float, float], where: str) -> list[tuple[float, float]]:
    """Read a region's corners in percent of the page; none if it has no place on it."""
    if "points" in value:
        points = value["points"]
        if not isinstance(points, list) or not all(isinstance(point, list) and len(point) == 2 for point in points):
            raise DocumentError(f"{where}: 'points' should be a list of pairs.")
        return [(_number(x, "points", where), _number(y, "points", where)) for x, y in points]
    if not value.keys() >= {"x", "y", "width", "height"}:
        return []
    x, y, width, height = (_number(value[key], key, where) for key in ("x", "y", "width", "height"))
    angle = math.radians(_number(value.get("rotation") or 0, "rotation", where))
    cosine, sine = math.cos(angle), math.sin(angle)
    shape = size[0] / size[1]  # a percent across is not as long as a percent down
    return [
        (x + across * cosine - down * sine / shape, y + across * sine * shape + down * cosine)
        for across, down in ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height))
    ]


def _page(item: dict[str, Any], where: str) -> int:
    """Read the page: `item_index`, or the number that a repeated image's name ends with, as in `page_2`."""
    page, name = item.get("item_index"), item.get("to_name")
    if page is None:
        ending = re.search(r"_([0-9]{1,6})$", name) if isinstance(name, str) else None
        page = int(ending[1]) if ending else 0
    if isinstance(page, bool) or not isinstance(page, int) or not 0 <= page < MOST_PAGES:
        raise DocumentError(f"{where}: its page should be a number from 0 to {MOST_PAGES - 1}.")
    return page


def _side(item: dict[str, Any], key: str, where: str) -> float:
    side = _number(item[key], key, where)
    if side < 1:
        raise DocumentError(f"{where}: {key!r} should be a number of pixels.")
    return side


def _number(value: Any, key: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e6:
        raise DocumentError(f"{where}: {key!r} should be a number, and no larger than a million.")
    return float(value)


def _strings(value: dict[str, Any], key: str, where: str) -> list[str]:
    strings = value.get(key)
    if isinstance(strings, str):
        return [strings]
    if not isinstance(strings, list) or not all(isinstance(item, str) for item in strings):
        raise DocumentError(f"{where}: {key!r} should be a list of strings.")
    return strings
