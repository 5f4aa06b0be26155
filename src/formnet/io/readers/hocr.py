"""hOCR: HTML whose classes say what is a page and what a word, and whose titles say where.

    <div class="ocr_page" title='image "scan.png"; bbox 0 0 600 800'>
     <span class="ocrx_word" title="bbox 43 39 132 58; x_wconf 96">Invoice</span> …

Much of it is no XML. The standard library's HTML parser would take it, but needs half a minute for 50 kB of `<a `;
one pattern for tags takes time in proportion, and entities other than HTML's own mean nothing to it.
"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.readers.elements import to_number
from formnet.io.readers.pages import WordPage, image_beside, one_document

READ_BY = "hOCR"
_PAGE = "ocr_page"
_WORDS = frozenset({"ocrx_word", "ocr_word"})
_A_WORD = re.compile(r"""class\s*+=\s*+["']?[^"'<>]{0,200}?\bocrx?_word\b""", re.IGNORECASE)
#: Some engines stop at lines.
_LINES = frozenset({"ocr_line", "ocrx_line"})

_TAG = re.compile(r"""<(/?)([A-Za-z][^\s<>"'/]*+)((?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>""")
_ATTRIBUTE = re.compile(r"""(?<![^\s"'/])(class|title)\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"']++)""", re.IGNORECASE)
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*+=\s*+["']?([\w.:-]{1,40})""", re.IGNORECASE)
#: Those that pages are written in, by the codec that a browser takes; some others that Python has are slow to unpack.
_CODECS = {"utf-8": "utf-8-sig", "ascii": "utf-8-sig", "iso8859-1": "cp1252"} | {
    name: name for name in ("cp1250", "cp1251", "cp1252", "iso8859-2", "iso8859-15", "shift_jis", "gb18030")
}


@dataclass
class _Mark:
    """An element that hOCR has a class for, and the text seen in it so far."""

    kind: str
    tag: str
    title: str
    depth: int = 1
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        pieces = self.pieces
        if self.kind in _WORDS:  # spelled in letters, each an element on a line of its own
            pieces = [piece for piece in pieces if not piece.isspace()]
        return unescape("".join(pieces))


def parse(text: str, path: Path) -> Document:
    """Give the document that hOCR says."""
    text = _without_comments(text)
    if _PAGE not in text:
        raise DocumentError(f"{path}: is HTML without an element of class {_PAGE}, and so no hOCR.")
    return one_document(path, _pages(text, path), READ_BY)


def decode(raw: bytes, path: Path) -> str:
    """Give the text of a file in the encoding that it names."""
    declared = _CHARSET.search(raw[:2048])
    name = declared[1].decode("ascii") if declared else "utf-8"
    marked = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode("utf-16" if marked else _CODECS[codecs.lookup(name).name])
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path}: is not in its encoding: {error}.") from error
    except LookupError as error:
        raise DocumentError(f"{path}: the encoding {name!r} is not read here; save it as UTF-8.") from error


def _without_comments(text: str) -> str:
    first, *rest = text.split("<!--")
    return first + "".join(piece.partition("-->")[2] for piece in rest)


def _pages(text: str, path: Path) -> Iterator[WordPage]:
    wanted = _WORDS if _A_WORD.search(text) else _LINES  # a head that promises words is not one
    page, left, top, number = None, 0.0, 0.0, 0
    for mark in _marks(text, wanted):
        if mark.kind == _PAGE:
            if page is not None:
                yield page
            number += 1
            page, left, top = _page(_properties(mark.title), path, f"{path}, page {number}")
            continue
        if page is None:
            raise DocumentError(f"{path}: {mark.text[:40]!r} stands before the first {_PAGE}.")
        where = f"{path}, page {number}, word {len(page.texts)}"
        properties = _properties(mark.title)
        x0, y0, x1, y1 = _box(properties, where)
        certain = properties.get("x_wconf")
        page.add(
            mark.text,
            (x0 - left, y0 - top, x1 - left, y1 - top),
            # -1 is what Tesseract says where it does not know.
            None if certain is None else max(to_number(certain, f"{where}: x_wconf"), 0) / 100,
        )
    if page is not None:
        yield page


def _page(properties: dict[str, str], path: Path, where: str) -> tuple[WordPage, float, float]:
    image = image_beside(path, properties.get("image", "").strip("\"'"))
    if "bbox" not in properties:
        return WordPage(image=image), 0.0, 0.0
    left, top, right, bottom = _box(properties, where)
    return WordPage(right - left, bottom - top, image), left, top


def _marks(text: str, wanted: frozenset[str]) -> Iterator[_Mark]:
    """Give pages as they begin, and what is wanted as it ends."""
    open_mark: _Mark | None = None
    end = 0
    for tag in _TAG.finditer(text):
        if open_mark is not None:
            open_mark.pieces.append(text[end : tag.start()])
        end = tag.end()
        closing, name, rest = tag[1], tag[2].lower(), tag[3]
        mark = _mark(name, rest, wanted) if not closing and "ocr" in rest else None
        if mark is not None:
            if open_mark is not None:  # left open by whoever wrote it
                yield open_mark
            open_mark = None
            if mark.kind == _PAGE:
                yield mark
            elif not rest.endswith("/"):
                open_mark = mark
        elif open_mark is not None and name == open_mark.tag and not rest.endswith("/"):
            open_mark.depth += -1 if closing else 1
            if open_mark.depth == 0:
                yield open_mark
                open_mark = None
    if open_mark is not None:
        yield open_mark


def _mark(tag: str, rest: str, wanted: frozenset[str]) -> _Mark | None:
    attributes = {name.lower(): unescape(value.strip("\"'")) for name, value in _ATTRIBUTE.findall(rest)}
    for kind in attributes.get("class", "").split():
        if kind == _PAGE or kind in wanted:
            return _Mark(kind, tag, attributes.get("title", ""))
    return None


def _properties(title: str) -> dict[str, str]:
    """Take `bbox 1 2 3 4; x_wconf 96` apart."""
    parts = (part.split(None, 1) for part in title.split(";"))
    return {name: rest[0].strip() if rest else "" for name, *rest in filter(None, parts)}


def _box(properties: dict[str, str], where: str) -> Box:
    numbers = [to_number(number, f"{where}: bbox") for number in properties.get("bbox", "").split()[:5]]
    if len(numbers) != 4:
        raise DocumentError(f"{where}: has no bbox of four numbers.")
    return numbers[0], numbers[1], numbers[2], numbers[3]
