"""PAGE XML of any year: regions of lines of words, in the order that the file says they are read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.readers.elements import find_number, get_number, name_of, to_number
from formnet.io.readers.pages import WordPage, box_around, image_beside, one_document

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

READ_BY = "PAGE XML"


def parse(root: "Element", path: Path) -> Document:
    """Give the document that PAGE XML says."""
    return one_document(path, _pages(root, path), READ_BY)


def _pages(root: "Element", path: Path) -> Iterator[WordPage]:
    for number, element in enumerate(_children(root, "Page"), 1):
        yield _page(element, path, f"{path}, page {number}")


def _page(element: "Element", path: Path, where: str) -> WordPage:
    page = WordPage(
        find_number(element, "imageWidth", where),
        find_number(element, "imageHeight", where),
        image_beside(path, element.get("imageFilename")),
    )
    for line in lines_in_order(element, where):
        words = _children(line, "Word")
        # Where a word says nothing, its line may still say all.
        whole = all(_text(word, where)[0] for word in words) or not _text(line, where)[0]
        for spoken in words if words and whole else [line]:
            text, confidence = _text(spoken, where)
            if text:
                page.add(text, _box(spoken, f"{where}, word {len(page.texts)}"), confidence)
    if not page.texts and any(_text(region, where)[0] for region in element.iter() if name_of(region) == "TextRegion"):
        raise DocumentError(f"{where}: has text for whole regions only; words or lines with their places are needed.")
    return page


def lines_in_order(page: "Element", where: str) -> "Sequence[Element]":
    """Give the text lines, region after region in reading order; regions it does not name come last."""
    ranks = _ranks(page, where)
    lines: list[tuple[int, Element]] = []
    waiting = [(len(ranks), page)]  # a stack and no recursion, for regions may be nested as deep as a file is long
    while waiting:
        rank, element = waiting.pop()
        rank = ranks.get(element.get("id", ""), rank)
        if name_of(element) == "TextLine":
            lines.append((rank, element))
        else:
            waiting.extend((rank, child) for child in reversed(element))
    return [line for _, line in sorted(lines, key=lambda ranked: ranked[0])]


def _ranks(page: "Element", where: str) -> dict[str, int]:
    ranks: dict[str, int] = {}
    waiting = _children(page, "ReadingOrder")
    while waiting:
        element = waiting.pop()
        region = element.get("regionRef")
        if region is not None:
            ranks.setdefault(region, len(ranks))
        waiting.extend(sorted(element, key=lambda child: _index(child, where))[::-1])
    return ranks


def _text(element: "Element", where: str) -> tuple[str, float | None]:
    """Give what a line or a word says, by the first of its readings, and how sure that is."""
    readings = _children(element, "TextEquiv")
    if not readings:
        return "", None
    best = min(readings, key=lambda reading: _index(reading, where))
    text = " ".join(unicode.text or "" for unicode in _children(best, "Unicode"))
    return text.strip(), find_number(best, "conf", where)


def _index(element: "Element", where: str) -> float:
    return find_number(element, "index", where) or 0.0


def _box(element: "Element", where: str) -> Box:
    points: list[tuple[float, float]] = []
    for coords in _children(element, "Coords"):
        for pair in coords.get("points", "").split():
            x, _, y = pair.partition(",")
            points.append((to_number(x, f"{where}: points"), to_number(y, f"{where}: points")))
        old_points = _children(coords, "Point")  # until 2010
        points.extend((get_number(point, "x", where), get_number(point, "y", where)) for point in old_points)
    if not points:
        raise DocumentError(f"{where}: <{name_of(element)}> has no Coords.")
    return box_around(points)


def _children(element: "Element", name: str) -> "list[Element]":
    return [child for child in element if name_of(child) == name]
