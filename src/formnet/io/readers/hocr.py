"""hOCR: HTML with page and word classes, and coordinates in title attributes.

    <div class="ocr_page" title='image "scan.png"; bbox 0 0 600 800'>
     <span class="ocrx_word" title="bbox 43 39 132 58; x_wconf 96">Invoice</span> …

Much hOCR is not well-formed XML, so tags are matched by a regular expression without backtracking. The standard HTML
parser takes quadratic time on some input: half a minute for 50 kB of `<a `. Entities declared in the file are ignored.
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
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.elements import to_number
from formnet.io.readers.pages import WordPage, build_document, find_image

TEXT_SOURCE = "hOCR"
_PAGE = "ocr_page"
_WORD_CLASSES = frozenset({"ocrx_word", "ocr_word"})
_WORD_ATTRIBUTE = re.compile(r"""class\s*+=\s*+["']?[^"'<>]{0,200}?\bocrx?_word\b""", re.IGNORECASE)
#: Used if a file has no words, because some engines write lines only.
_LINE_CLASSES = frozenset({"ocr_line", "ocrx_line"})

_TAG = re.compile(r"""<(/?)([A-Za-z][^\s<>"'/]*+)((?:[^<>"']++|"[^"]*+"|'[^']*+')*+)>""")
_ATTRIBUTE = re.compile(r"""(?<![^\s"'/])(class|title)\s*+=\s*+("[^"]*+"|'[^']*+'|[^\s"']++)""", re.IGNORECASE)
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*+=\s*+["']?([\w.:-]{1,40})""", re.IGNORECASE)
#: Supported encodings, with the codec that browsers use. Some other Python codecs are slow to decode.
_CODECS = {"utf-8": "utf-8-sig", "ascii": "utf-8-sig", "iso8859-1": "cp1252"} | {
    name: name for name in ("cp1250", "cp1251", "cp1252", "iso8859-2", "iso8859-15", "shift_jis", "gb18030")
}


@dataclass
class _Element:
    """An element with an hOCR class, and its text so far."""

    hocr_class: str
    tag: str
    title: str
    depth: int = 1
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        pieces = self.pieces
        if self.hocr_class in _WORD_CLASSES:  # characters may be elements, with whitespace between them
            pieces = [piece for piece in pieces if not piece.isspace()]
        return unescape("".join(pieces))


def parse(text: str, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Parse hOCR into a document."""
    text = _remove_comments(text)
    if _PAGE not in text:
        raise DocumentError(f"{path}: HTML without an element of class {_PAGE}, so not hOCR.")
    return build_document(path, _iter_pages(text, path), TEXT_SOURCE, limits)


def decode(raw: bytes, path: Path) -> str:
    """Decode a file from the encoding it declares."""
    declared = _CHARSET.search(raw[:2048])
    name = declared[1].decode("ascii") if declared else "utf-8"
    is_utf16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode("utf-16" if is_utf16 else _CODECS[codecs.lookup(name).name])
    except UnicodeDecodeError as error:
        raise DocumentError(f"{path}: does not match its declared encoding: {error}.") from error
    except LookupError as error:
        raise DocumentError(f"{path}: unsupported encoding {name!r}. Save it as UTF-8.") from error


def _remove_comments(text: str) -> str:
    first, *rest = text.split("<!--")
    return first + "".join(piece.partition("-->")[2] for piece in rest)


def _iter_pages(text: str, path: Path) -> Iterator[WordPage]:
    # A class attribute is required: metadata may list word classes that the file does not use.
    classes = _WORD_CLASSES if _WORD_ATTRIBUTE.search(text) else _LINE_CLASSES
    page, left, top, number = None, 0.0, 0.0, 0
    for element in _iter_elements(text, classes):
        if element.hocr_class == _PAGE:
            if page is not None:
                yield page
            number += 1
            page, left, top = _parse_page(_parse_properties(element.title), path, f"{path}, page {number}")
            continue
        if page is None:
            raise DocumentError(f"{path}: the word {element.text[:40]!r} is before the first {_PAGE}.")
        where = f"{path}, page {number}, word {len(page.texts)}"
        properties = _parse_properties(element.title)
        x0, y0, x1, y1 = _parse_box(properties, where)
        confidence = properties.get("x_wconf")
        page.add(
            element.text,
            (x0 - left, y0 - top, x1 - left, y1 - top),
            # Tesseract writes -1 if the confidence is unknown.
            None if confidence is None else max(to_number(confidence, f"{where}: x_wconf"), 0) / 100,
        )
    if page is not None:
        yield page


def _parse_page(properties: dict[str, str], path: Path, where: str) -> tuple[WordPage, float, float]:
    image = find_image(path, properties.get("image", "").strip("\"'"))
    if "bbox" not in properties:
        return WordPage(image=image), 0.0, 0.0
    left, top, right, bottom = _parse_box(properties, where)
    return WordPage(right - left, bottom - top, image), left, top


def _iter_elements(text: str, classes: frozenset[str]) -> Iterator[_Element]:
    """Yield pages at their start tag, and elements of the given classes at their end tag."""
    current: _Element | None = None
    end = 0
    for tag in _TAG.finditer(text):
        if current is not None:
            current.pieces.append(text[end : tag.start()])
        end = tag.end()
        closing, name, attributes = tag[1], tag[2].lower(), tag[3]
        element = _parse_element(name, attributes, classes) if not closing and "ocr" in attributes else None
        if element is not None:
            if current is not None:  # its end tag is missing
                yield current
            current = None
            if element.hocr_class == _PAGE:
                yield element
            elif not attributes.endswith("/"):
                current = element
        elif current is not None and name == current.tag and not attributes.endswith("/"):
            current.depth += -1 if closing else 1
            if current.depth == 0:
                yield current
                current = None
    if current is not None:
        yield current


def _parse_element(tag: str, text: str, classes: frozenset[str]) -> _Element | None:
    attributes = {name.lower(): unescape(value.strip("\"'")) for name, value in _ATTRIBUTE.findall(text)}
    for html_class in attributes.get("class", "").split():
        if html_class == _PAGE or html_class in classes:
            return _Element(html_class, tag, attributes.get("title", ""))
    return None


def _parse_properties(title: str) -> dict[str, str]:
    """Parse a title attribute such as `bbox 1 2 3 4; x_wconf 96`."""
    parts = (part.split(None, 1) for part in title.split(";"))
    return {name: rest[0].strip() if rest else "" for name, *rest in filter(None, parts)}


def _parse_box(properties: dict[str, str], where: str) -> Box:
    numbers = [to_number(number, f"{where}: bbox") for number in properties.get("bbox", "").split()[:5]]
    if len(numbers) != 4:
        raise DocumentError(f"{where}: has no bbox of four numbers.")
    return numbers[0], numbers[1], numbers[2], numbers[3]
