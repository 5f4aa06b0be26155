"""ALTO, versions 2 to 4: what libraries and Tesseract write. Whatever the unit, page and words share it."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.readers.elements import find_number, get_number, name_of
from formnet.io.readers.pages import WordPage, image_beside, one_document

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

READ_BY = "ALTO"


def parse(root: "Element", path: Path) -> Document:
    """Give the document that ALTO says."""
    return one_document(path, _pages(root, path), READ_BY)


def _pages(root: "Element", path: Path) -> Iterator[WordPage]:
    names = (element.text for element in root.iter() if name_of(element) == "fileName")
    image = image_beside(path, next(names, None))
    for number, element in enumerate(_outermost(root), 1):
        yield _page(element, image, f"{path}, page {number}")


def _outermost(element: "Element") -> "Iterator[Element]":
    """Give pages, and none within a page: its words would be read again and again."""
    waiting = [element]
    while waiting:
        one = waiting.pop()
        if name_of(one) == "Page":
            yield one
        else:
            waiting += reversed(one)


def _page(element: "Element", image: Path | None, where: str) -> WordPage:
    page = WordPage(find_number(element, "WIDTH", where), find_number(element, "HEIGHT", where), image)
    for string in element.iter():
        if name_of(string) == "String":
            _add(string, page, f"{where}, word {len(page.texts)}")
    return page


def _add(string: "Element", page: WordPage, where: str) -> None:
    text = string.get("CONTENT")  # the printed half of a divided word; SUBS_CONTENT is the whole one
    if text is None:
        raise DocumentError(f"{where}: <String> has no CONTENT.")
    x, y = get_number(string, "HPOS", where), get_number(string, "VPOS", where)
    width, height = get_number(string, "WIDTH", where), get_number(string, "HEIGHT", where)
    page.add(text, (x, y, x + width, y + height), find_number(string, "WC", where))
