"""Google Document AI responses: the text of the document, and pages of tokens that reference it by index."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.fields import find, find_number, get, type_name
from formnet.io.readers.pages import WordPage, bounding_box, build_document

TEXT_SOURCE = "Google Document AI"


class _Text:
    """The text of a document, and the number of characters that tokens may still reference."""

    def __init__(self, text: str, limits: ReadLimits) -> None:
        self.text = text
        self.remaining = limits.max_text_references * len(text)

    def resolve(self, layout: Any, where: str) -> str:
        """Return the text that a layout references."""
        anchor = get(layout, _spelling(layout, "textAnchor"), dict, where)
        pieces: list[str] = []
        for segment in find(anchor, _spelling(anchor, "textSegments"), list, where) or ():
            start, end = _parse_index(segment, "startIndex", where) or 0, _parse_index(segment, "endIndex", where)
            if end is None or not start <= end <= len(self.text):
                raise DocumentError(f"{where}: index outside the text, which has {len(self.text):,} characters.")
            self.remaining -= end - start
            if self.remaining < 0:
                raise DocumentError(f"{where}: tokens overlap too much; together they exceed the text several times.")
            pieces.append(self.text[start:end])
        return "".join(pieces)


def is_response(data: Any) -> bool:
    """Return whether JSON is a response of this service, or the document in it."""
    document = _get_document(data)
    return document is not None and {"text", "pages"} <= document.keys()


def parse(data: Any, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Parse a response into a document."""
    document = _get_document(data)
    shard_info = find(document, _spelling(document, "shardInfo"), dict, str(path)) or {}
    num_shards = _parse_index(shard_info, "shardCount", str(path)) or 1
    if num_shards > 1:
        raise DocumentError(f"{path}: holds one of {num_shards} shards of a document. Request it without sharding.")
    text = _Text(get(document, "text", str, str(path)), limits)
    pages = get(document, "pages", list, str(path))
    return build_document(path, _iter_pages(pages, text, path), TEXT_SOURCE, limits)


def _get_document(data: Any) -> dict[str, Any] | None:
    if isinstance(data, dict) and isinstance(data.get("document"), dict):
        data = data["document"]
    return data if isinstance(data, dict) else None


def _iter_pages(pages: list[Any], text: _Text, path: Path) -> Iterator[WordPage]:
    if pages and not any(isinstance(page, dict) and "tokens" in page for page in pages):
        raise DocumentError(f"{path}: the response has no 'tokens' on any page. Request it again without a field mask.")
    for number, page in enumerate(pages, 1):
        yield _parse_page(page, text, f"{path}, page {number}")


def _parse_page(data: Any, text: _Text, where: str) -> WordPage:
    dimension = find(data, "dimension", dict, where) or {}
    page = WordPage(find_number(dimension, "width", where), find_number(dimension, "height", where))
    for token in find(data, "tokens", list, where) or ():
        word_where = f"{where}, word {len(page.texts)}"
        layout = get(token, "layout", dict, word_where)
        page.add(
            text.resolve(layout, word_where),
            _parse_box(layout, page, word_where),
            find_number(layout, "confidence", word_where),
        )
    return page


def _parse_box(layout: Any, page: WordPage, where: str) -> Box:
    polygon = get(layout, _spelling(layout, "boundingPoly"), dict, where)
    normalized = find(polygon, _spelling(polygon, "normalizedVertices"), list, where)
    vertices = normalized or get(polygon, "vertices", list, where)
    if len(vertices) < 2:
        raise DocumentError(f"{where}: the polygon has {len(vertices)} vertices; at least 2 are required.")
    # Coordinates that are zero are omitted.
    points = [(find_number(vertex, "x", where) or 0.0, find_number(vertex, "y", where) or 0.0) for vertex in vertices]
    x0, y0, x1, y1 = bounding_box(points)
    if not normalized:
        return x0, y0, x1, y1
    if page.width is None or page.height is None:
        raise DocumentError(f"{where}: coordinates are normalized, but the page has no 'dimension'.")
    return x0 * page.width, y0 * page.height, x1 * page.width, y1 * page.height


def _spelling(data: Any, key: str) -> str:
    """Return the spelling of a key in the data: the service writes textAnchor, its Python client text_anchor."""
    snake_case = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)
    return snake_case if isinstance(data, dict) and key not in data and snake_case in data else key


def _parse_index(segment: Any, key: str, where: str) -> int | None:
    """Return an index into the text. 64-bit integers are strings in this format."""
    if not isinstance(segment, dict):
        raise DocumentError(f"{where}: a text segment must be an object, not {type_name(segment)}.")
    value = segment.get(_spelling(segment, key))
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise DocumentError(f"{where}: {key!r} must be an index into the text.")
    return value
