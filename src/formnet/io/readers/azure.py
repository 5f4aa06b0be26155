"""Azure Document Intelligence responses, and those of its predecessor Form Recognizer: words with polygons by page."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.fields import find, find_number, get, get_number, to_number
from formnet.io.readers.pages import WordPage, bounding_box, build_document

TEXT_SOURCE = "Azure Document Intelligence"


def is_response(data: Any) -> bool:
    """Return whether JSON is a response of this service, or the result in it as saved by its client libraries."""
    if not isinstance(data, dict):
        return False
    if "pages" in data:
        return not data.keys().isdisjoint(("modelId", "model_id"))
    return not data.keys().isdisjoint(("analyzeResult", "readResults"))


def parse(data: Any, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Parse a response into a document."""
    result = find(data, "analyzeResult", dict, str(path)) or data
    v2_pages = find(result, "readResults", list, str(path))
    if v2_pages is not None:
        _check_any_has(v2_pages, "lines", "Request it again with includeTextDetails=true", path)
        pages: Iterator[WordPage] = (_parse_v2_page(page, f"{path}, page {i}") for i, page in enumerate(v2_pages, 1))
    else:
        v3_pages = get(result, "pages", list, str(path))
        _check_any_has(v3_pages, "words", "Request it again with a model that reads text, such as prebuilt-read", path)
        pages = (_parse_v3_page(page, f"{path}, page {i}") for i, page in enumerate(v3_pages, 1))
    return build_document(path, pages, TEXT_SOURCE, limits)


def _check_any_has(pages: Sequence[Any], key: str, remedy: str, path: Path) -> None:
    """Raise if no page has the key. A blank page may lack it; if all do, text was not requested."""
    if pages and not any(isinstance(page, dict) and key in page for page in pages):
        raise DocumentError(f"{path}: the response has no {key!r} on any page. {remedy}.")


def _parse_v3_page(data: Any, where: str) -> WordPage:
    page = _empty_page(data, where)
    for word in find(data, "words", list, where) or ():
        word_where = f"{where}, word {len(page.texts)}"
        page.add(
            get(word, "content", str, word_where),
            _parse_box(word, "polygon", word_where),
            find_number(word, "confidence", word_where),
        )
    return page


def _parse_v2_page(data: Any, where: str) -> WordPage:
    page = _empty_page(data, where)
    for line in find(data, "lines", list, where) or ():
        for word in find(line, "words", list, where) or ():
            word_where = f"{where}, word {len(page.texts)}"
            page.add(
                get(word, "text", str, word_where),
                _parse_box(word, "boundingBox", word_where),
                find_number(word, "confidence", word_where),
            )
    return page


def _empty_page(data: Any, where: str) -> WordPage:
    return WordPage(find_number(data, "width", where), find_number(data, "height", where))


def _parse_box(word: Any, key: str, where: str) -> Box:
    polygon = get(word, key, list, where)
    if polygon and isinstance(polygon[0], dict):  # as saved by the client libraries
        points = [(get_number(point, "x", where), get_number(point, "y", where)) for point in polygon]
    else:
        numbers = [to_number(number, f"{where}: {key!r}") for number in polygon]
        points = list(zip(numbers[::2], numbers[1::2], strict=False))
    if len(points) < 2 or len(polygon) % 2:
        raise DocumentError(f"{where}: {key!r} must be pairs of numbers, one per corner.")
    return bounding_box(points)
