"""Google Document AI: the document's text in one piece, and pages of tokens that point into it."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.readers.fields import called, find, find_number, get
from formnet.io.readers.pages import WordPage, box_around, one_document

READ_BY = "Google Document AI"

#: Tokens share the text out between them. Were each allowed to name all of it, a small file could grow without end.
MOST_TELLINGS = 4


class _Text:
    """The text that tokens point into."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.left = MOST_TELLINGS * len(text)

    def told_by(self, layout: Any, where: str) -> str:
        anchor = get(layout, _spelt(layout, "textAnchor"), dict, where)
        pieces: list[str] = []
        for segment in find(anchor, _spelt(anchor, "textSegments"), list, where) or ():
            start, end = _index(segment, "startIndex", where) or 0, _index(segment, "endIndex", where)
            if end is None or not start <= end <= len(self.text):
                raise DocumentError(f"{where}: points outside the text, which has {len(self.text):,} characters.")
            self.left -= end - start
            if self.left < 0:
                raise DocumentError(f"{where}: tokens overlap so much that this cannot be a page's text.")
            pieces.append(self.text[start:end])
        return "".join(pieces)


def wrote(data: Any) -> bool:
    """Tell the service's answer, or the document in it."""
    document = _document(data)
    return document is not None and {"text", "pages"} <= document.keys()


def parse(data: Any, path: Path) -> Document:
    """Give the document that the service's answer says."""
    document = _document(data)
    shards = _index(find(document, _spelt(document, "shardInfo"), dict, str(path)) or {}, "shardCount", str(path)) or 1
    if shards > 1:
        raise DocumentError(f"{path}: is one of {shards} parts of a document; ask the service for it in one piece.")
    text = _Text(get(document, "text", str, str(path)))
    return one_document(path, _pages(get(document, "pages", list, str(path)), text, path), READ_BY)


def _document(data: Any) -> dict[str, Any] | None:
    if isinstance(data, dict) and isinstance(data.get("document"), dict):
        data = data["document"]
    return data if isinstance(data, dict) else None


def _pages(pages: list[Any], text: _Text, path: Path) -> Iterator[WordPage]:
    if pages and not any(isinstance(page, dict) and "tokens" in page for page in pages):
        raise DocumentError(f"{path}: has pages but no 'tokens' on any; ask for it again without a field mask.")
    for number, page in enumerate(pages, 1):
        yield _page(page, text, f"{path}, page {number}")


def _page(data: Any, text: _Text, where: str) -> WordPage:
    dimension = find(data, "dimension", dict, where) or {}
    page = WordPage(find_number(dimension, "width", where), find_number(dimension, "height", where))
    for token in find(data, "tokens", list, where) or ():
        place = f"{where}, word {len(page.texts)}"
        layout = get(token, "layout", dict, place)
        page.add(text.told_by(layout, place), _box(layout, page, place), find_number(layout, "confidence", place))
    return page


def _box(layout: Any, page: WordPage, where: str) -> Box:
    outline = get(layout, _spelt(layout, "boundingPoly"), dict, where)
    shares = find(outline, _spelt(outline, "normalizedVertices"), list, where)
    corners = shares or get(outline, "vertices", list, where)
    if len(corners) < 2:
        raise DocumentError(f"{where}: an outline has {len(corners)} corners; it needs more.")
    # A coordinate of zero is left out.
    points = [(find_number(corner, "x", where) or 0.0, find_number(corner, "y", where) or 0.0) for corner in corners]
    x0, y0, x1, y1 = box_around(points)
    if not shares:
        return x0, y0, x1, y1
    if page.width is None or page.height is None:
        raise DocumentError(f"{where}: places are shares of a page whose 'dimension' is not told.")
    return x0 * page.width, y0 * page.height, x1 * page.width, y1 * page.height


def _spelt(data: Any, key: str) -> str:
    """Give a key as it stands here: the service writes textAnchor, its Python library text_anchor."""
    other = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)
    return other if isinstance(data, dict) and key not in data and other in data else key


def _index(segment: Any, key: str, where: str) -> int | None:
    """Give a place in the text; whole numbers of 64 bits are strings in this JSON."""
    if not isinstance(segment, dict):
        raise DocumentError(f"{where}: a text segment should be an object, not {called(segment)}.")
    value = segment.get(_spelt(segment, key))
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 20:
        value = int(value)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):
        raise DocumentError(f"{where}: {key!r} should be a place in the text.")
    return value
