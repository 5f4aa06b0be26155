"""PAGE XML of any version: regions with lines with words, in the reading order of the file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.elements import find_number, get_number, local_name, to_number
from formnet.io.readers.pages import WordPage, bounding_box, build_document, find_image

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

TEXT_SOURCE = "PAGE XML"


def parse(root: "Element", path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Parse PAGE XML into a document."""
    return build_document(path, _iter_pages(root, path), TEXT_SOURCE, limits)


def _iter_pages(root: "Element", path: Path) -> Iterator[WordPage]:
    for number, element in enumerate(_children(root, "Page"), 1):
        yield _parse_page(element, path, f"{path}, page {number}")


def _parse_page(element: "Element", path: Path, where: str) -> WordPage:
    page = WordPage(
        find_number(element, "imageWidth", where),
        find_number(element, "imageHeight", where),
        find_image(path, element.get("imageFilename")),
    )
    for line in lines_in_reading_order(element, where):
        words = _children(line, "Word")
        # Use the text of the line if one of its words has none.
        use_words = all(_parse_text(word, where)[0] for word in words) or not _parse_text(line, where)[0]
        for item in words if words and use_words else [line]:
            text, confidence = _parse_text(item, where)
            if text:
                page.add(text, _parse_box(item, f"{where}, word {len(page.texts)}"), confidence)
    regions = (region for region in element.iter() if local_name(region) == "TextRegion")
    if not page.texts and any(_parse_text(region, where)[0] for region in regions):
        raise DocumentError(f"{where}: has text for regions only. Export it with the coordinates of words or lines.")
    return page


def lines_in_reading_order(page: "Element", where: str) -> "Sequence[Element]":
    """Return the text lines by region in reading order; regions outside the reading order come last."""
    ranks = _region_ranks(page, where)
    lines: list[tuple[int, Element]] = []
    stack = [(len(ranks), page)]  # not recursive, because nesting may be arbitrarily deep
    while stack:
        rank, element = stack.pop()
        rank = ranks.get(element.get("id", ""), rank)
        if local_name(element) == "TextLine":
            lines.append((rank, element))
        else:
            stack.extend((rank, child) for child in reversed(element))
    return [line for _, line in sorted(lines, key=lambda ranked: ranked[0])]


def _region_ranks(page: "Element", where: str) -> dict[str, int]:
    ranks: dict[str, int] = {}
    stack = _children(page, "ReadingOrder")
    while stack:
        element = stack.pop()
        region = element.get("regionRef")
        if region is not None:
            ranks.setdefault(region, len(ranks))
        stack.extend(sorted(element, key=lambda child: _parse_index(child, where))[::-1])
    return ranks


def _parse_text(element: "Element", where: str) -> tuple[str, float | None]:
    """Return the text of a line or word and its confidence, from the first of its alternatives."""
    alternatives = _children(element, "TextEquiv")
    if not alternatives:
        return "", None
    best = min(alternatives, key=lambda alternative: _parse_index(alternative, where))
    text = " ".join(unicode.text or "" for unicode in _children(best, "Unicode"))
    return text.strip(), find_number(best, "conf", where)


def _parse_index(element: "Element", where: str) -> float:
    return find_number(element, "index", where) or 0.0


def _parse_box(element: "Element", where: str) -> Box:
    points: list[tuple[float, float]] = []
    for coords in _children(element, "Coords"):
        for pair in coords.get("points", "").split():
            x, _, y = pair.partition(",")
            points.append((to_number(x, f"{where}: points"), to_number(y, f"{where}: points")))
        point_elements = _children(coords, "Point")  # versions up to 2010
        points.extend((get_number(point, "x", where), get_number(point, "y", where)) for point in point_elements)
    if not points:
        raise DocumentError(f"{where}: <{local_name(element)}> has no Coords.")
    return bounding_box(points)


def _children(element: "Element", name: str) -> "list[Element]":
    return [child for child in element if local_name(child) == name]
