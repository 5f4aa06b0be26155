"""ALTO XML, versions 2 to 4. Any measurement unit works, because pages and words share it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.elements import find_number, get_number, local_name
from formnet.io.readers.pages import WordPage, build_document, find_image

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

TEXT_SOURCE = "ALTO"


def parse(root: "Element", path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Parse ALTO into a document."""
    return build_document(path, _iter_pages(root, path), TEXT_SOURCE, limits)


def _iter_pages(root: "Element", path: Path) -> Iterator[WordPage]:
    names = (element.text for element in root.iter() if local_name(element) == "fileName")
    image = find_image(path, next(names, None))
    for number, element in enumerate(_outermost_pages(root), 1):
        yield _parse_page(element, image, f"{path}, page {number}")


def _outermost_pages(root: "Element") -> "Iterator[Element]":
    """Yield the pages that are not inside another page, whose words would be read more than once."""
    stack = [root]
    while stack:
        element = stack.pop()
        if local_name(element) == "Page":
            yield element
        else:
            stack += reversed(element)


def _parse_page(element: "Element", image: Path | None, where: str) -> WordPage:
    page = WordPage(find_number(element, "WIDTH", where), find_number(element, "HEIGHT", where), image)
    for string in element.iter():
        if local_name(string) == "String":
            _add_word(string, page, f"{where}, word {len(page.texts)}")
    return page


def _add_word(string: "Element", page: WordPage, where: str) -> None:
    text = string.get("CONTENT")  # the printed part of a hyphenated word; SUBS_CONTENT is the complete word
    if text is None:
        raise DocumentError(f"{where}: <String> has no CONTENT.")
    x, y = get_number(string, "HPOS", where), get_number(string, "VPOS", where)
    width, height = get_number(string, "WIDTH", where), get_number(string, "HEIGHT", where)
    page.add(text, (x, y, x + width, y + height), find_number(string, "WC", where))
