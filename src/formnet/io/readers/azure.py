"""Azure Document Intelligence, and Form Recognizer as it was called until version 3: words with polygons, by page."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.readers.fields import find, find_number, get, get_number, to_number
from formnet.io.readers.pages import WordPage, box_around, one_document

READ_BY = "Azure Document Intelligence"


def wrote(data: Any) -> bool:
    """Tell the service's answer, or the result in it, as its libraries save it."""
    if not isinstance(data, dict):
        return False
    if "pages" in data:
        return not data.keys().isdisjoint(("modelId", "model_id"))
    return not data.keys().isdisjoint(("analyzeResult", "readResults"))


def parse(data: Any, path: Path) -> Document:
    """Give the document that the service's answer says."""
    result = find(data, "analyzeResult", dict, str(path)) or data
    older = find(result, "readResults", list, str(path))
    if older is not None:
        _refuse_without(older, "lines", "ask for it again with includeTextDetails=true", path)
        pages: Iterator[WordPage] = (_older_page(page, f"{path}, page {i}") for i, page in enumerate(older, 1))
    else:
        newer = get(result, "pages", list, str(path))
        _refuse_without(newer, "words", "ask for it again with a model that reads text, such as prebuilt-read", path)
        pages = (_newer_page(page, f"{path}, page {i}") for i, page in enumerate(newer, 1))
    return one_document(path, pages, READ_BY)


def _refuse_without(pages: Sequence[Any], key: str, remedy: str, path: Path) -> None:
    """A blank page may lack its words; where all do, nobody asked for them."""
    if pages and not any(isinstance(page, dict) and key in page for page in pages):
        raise DocumentError(f"{path}: the answer has pages but no {key!r} on any; {remedy}.")


def _newer_page(data: Any, where: str) -> WordPage:
    page = _empty(data, where)
    for word in find(data, "words", list, where) or ():
        place = f"{where}, word {len(page.texts)}"
        page.add(get(word, "content", str, place), _box(word, "polygon", place), find_number(word, "confidence", place))
    return page


def _older_page(data: Any, where: str) -> WordPage:
    page = _empty(data, where)
    for line in find(data, "lines", list, where) or ():
        for word in find(line, "words", list, where) or ():
            place = f"{where}, word {len(page.texts)}"
            page.add(
                get(word, "text", str, place), _box(word, "boundingBox", place), find_number(word, "confidence", place)
            )
    return page


def _empty(data: Any, where: str) -> WordPage:
    return WordPage(find_number(data, "width", where), find_number(data, "height", where))


def _box(word: Any, key: str, where: str) -> Box:
    polygon = get(word, key, list, where)
    if polygon and isinstance(polygon[0], dict):  # the libraries make points of pairs
        points = [(get_number(point, "x", where), get_number(point, "y", where)) for point in polygon]
    else:
        numbers = [to_number(number, f"{where}: {key!r}") for number in polygon]
        points = list(zip(numbers[::2], numbers[1::2], strict=False))
    if len(points) < 2 or len(polygon) % 2:
        raise DocumentError(f"{where}: {key!r} should be pairs of numbers, one a corner.")
    return box_around(points)
