"""Pages with words in markup: hOCR, ALTO or PAGE XML, as the root element says."""

import re
from collections.abc import Iterator
from pathlib import Path

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.readers import alto, hocr, page_xml
from formnet.io.readers.elements import parse_xml
from formnet.io.readers.pages import read_whole

#: The root stands somewhere in here, after declarations and comments.
_HEAD = 2**16
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)")


def read(path: Path) -> Iterator[Document]:
    """Give the file as one document."""
    raw = read_whole(path)
    root = root_name(raw[:_HEAD])
    if root == "alto":
        yield alto.parse(parse_xml(raw, path), path)
    elif root == "pcgts":
        yield page_xml.parse(parse_xml(raw, path), path)
    elif root == "html" or b"ocr_page" in raw:
        yield hocr.parse(hocr.decode(raw, path), path)
    else:
        raise DocumentError(
            f"{path}: <{root}> is no markup that can be read; known are hOCR (<html>), ALTO (<alto>) "
            "and PAGE XML (<PcGts>)."
        )


def root_name(head: bytes) -> str:
    """Give the name of the first element in small letters, or nothing, whatever the encoding."""
    text = head.replace(b"\0", b"")  # what UTF-16 puts between the letters
    first, *rest = text.split(b"<!--")
    shown = first + b"".join(piece.partition(b"-->")[2] for piece in rest)
    root = _ROOT.search(shown)
    return root[1].decode("ascii", "replace").lower() if root else ""
