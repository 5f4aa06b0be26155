"""Parsing and validation of annotation results, grouped by region."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.limits import DEFAULT_LIMITS

_LABELS = ("rectanglelabels", "labels", "polygonlabels")
_SUPPORTED_TYPES = ("rectangle", "polygon", "textarea", *_LABELS)
_MAX_LABELS = 100
_UNSUPPORTED_SHAPES = ("ellipselabels", "brushlabels", "keypointlabels")


@dataclass
class Region:
    """All results of one region id, combined."""

    box: Box = (0.0, 0.0, 0.0, 0.0)  # relative to the size of the page
    page: int | None = None  # None if the region has no coordinates
    size: tuple[float, float] | None = None
    labels: dict[str, None] = field(default_factory=dict)  # an ordered set
    lines: list[str] = field(default_factory=list)  # transcribed text


def read_regions(result: Sequence[dict[str, Any]], task_name: str) -> tuple[dict[str, Region], list[tuple[str, str]]]:
    """Return the regions that have coordinates by id, and the relations between region ids, question first."""
    regions: dict[str, Region] = {}
    relations: list[tuple[str, str]] = []
    for number, item in enumerate(result):
        where = f"{task_name}, result {number}"
        if item.get("type") == "relation":
            source, target = item.get("from_id"), item.get("to_id")
            if not isinstance(source, str) or not isinstance(target, str):
                raise DocumentError(f"{where}: a relation needs 'from_id' and 'to_id'.")
            relations.append((target, source) if item.get("direction") == "left" else (source, target))
        elif item.get("type") in _SUPPORTED_TYPES:
            name = item.get("id", f"#{number}")
            if not isinstance(name, str) or not isinstance(item.get("value"), dict):
                raise DocumentError(f"{where}: a region needs an 'id' (string) and a 'value' (object).")
            _add_result(regions.setdefault(name, Region()), item, where)
        elif item.get("type") in _UNSUPPORTED_SHAPES:
            raise DocumentError(f"{where}: {item['type']} are not supported; draw rectangles or polygons.")
    for name, region in regions.items():
        if region.labels and region.page is None:
            raise DocumentError(f"{task_name}, region {name!r}: not a rectangle or polygon on an image; draw one.")
    return {name: region for name, region in regions.items() if region.page is not None}, relations


def _add_result(region: Region, item: dict[str, Any], where: str) -> None:
    kind, value = item["type"], item["value"]
    if item.get("image_rotation"):
        raise DocumentError(f"{where}: the image is rotated in Label Studio. Rotate the scan file and annotate again.")
    if item.get("original_width") and item.get("original_height"):
        region.size = _side(item, "original_width", where), _side(item, "original_height", where)
    corners = _corners(value, region.size or (1.0, 1.0), where)
    if corners:
        low, high = np.min(corners, axis=0).tolist(), np.max(corners, axis=0).tolist()
        region.box, region.page = (low[0] / 100, low[1] / 100, high[0] / 100, high[1] / 100), _page(item, where)
    if kind in _LABELS:
        region.labels.update(dict.fromkeys(_strings(value, kind, where)))
        if len(region.labels) > _MAX_LABELS:
            raise DocumentError(f"{where}: {len(region.labels)} labels on a region (limit {_MAX_LABELS}). Remove some.")
    if kind == "textarea":
        region.lines += [line for text in _strings(value, "text", where) for line in text.splitlines() if line.strip()]


def _corners(value: dict[str, Any], size: tuple[float, float], where: str) -> list[tuple[float, float]]:
    """Return the corners of a region in percent of the page; empty if it has no coordinates."""
    if "points" in value:
        points = value["points"]
        if not isinstance(points, list) or not all(isinstance(point, list) and len(point) == 2 for point in points):
            raise DocumentError(f"{where}: 'points' must be a list of pairs.")
        return [(_number(x, "points", where), _number(y, "points", where)) for x, y in points]
    if not value.keys() >= {"x", "y", "width", "height"}:
        return []
    x, y, width, height = (_number(value[key], key, where) for key in ("x", "y", "width", "height"))
    angle = math.radians(_number(value.get("rotation") or 0, "rotation", where))
    cosine, sine = math.cos(angle), math.sin(angle)
    aspect_ratio = size[0] / size[1]  # horizontal and vertical percentages differ in length
    return [
        (x + dx * cosine - dy * sine / aspect_ratio, y + dx * sine * aspect_ratio + dy * cosine)
        for dx, dy in ((0.0, 0.0), (width, 0.0), (width, height), (0.0, height))
    ]


def _page(item: dict[str, Any], where: str) -> int:
    """Return the page index: `item_index`, or the numeric suffix of a repeated image name, as in `page_2`."""
    page, name = item.get("item_index"), item.get("to_name")
    if page is None:
        suffix = re.search(r"_([0-9]{1,6})$", name) if isinstance(name, str) else None
        page = int(suffix[1]) if suffix else 0
    if isinstance(page, bool) or not isinstance(page, int) or not 0 <= page < DEFAULT_LIMITS.max_pages:
        raise DocumentError(f"{where}: the page must be a number from 0 to {DEFAULT_LIMITS.max_pages - 1}.")
    return page


def _side(item: dict[str, Any], key: str, where: str) -> float:
    side = _number(item[key], key, where)
    if side < 1:
        raise DocumentError(f"{where}: {key!r} must be a number of pixels, at least 1.")
    return side


def _number(value: Any, key: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e6:
        raise DocumentError(f"{where}: {key!r} must be a number of at most 1,000,000.")
    return float(value)


def _strings(value: dict[str, Any], key: str, where: str) -> list[str]:
    strings = value.get(key)
    if isinstance(strings, str):
        return [strings]
    if not isinstance(strings, list) or not all(isinstance(item, str) for item in strings):
        raise DocumentError(f"{where}: {key!r} must be a list of strings.")
    return strings
