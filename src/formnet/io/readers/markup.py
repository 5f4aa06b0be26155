"""Markup files: hOCR, ALTO or PAGE XML, distinguished by the root element."""

import re
from collections.abc import Iterator
from pathlib import Path

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers import alto, hocr, page_xml
from formnet.io.readers.elements import parse_xml
from formnet.io.readers.pages import read_bytes

#: Bytes searched for the root element, which may follow declarations and comments.
_HEAD_BYTES = 2**16
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)")


def read(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Document]:
    """Read a file as one document."""
    raw = read_bytes(path, limits)
    root = root_name(raw[:_HEAD_BYTES])
    if root == "alto":
        yield alto.parse(parse_xml(raw, path), path, limits)
    elif root == "pcgts":
        yield page_xml.parse(parse_xml(raw, path), path, limits)
    elif root == "html" or b"ocr_page" in raw:
        yield hocr.parse(hocr.decode(raw, path), path, limits)
    else:
        raise DocumentError(
            f"{path}: unsupported markup <{root}>. Supported are hOCR (<html>), ALTO (<alto>) and PAGE XML (<PcGts>)."
        )


def root_name(head: bytes) -> str:
    """Return the name of the first element in lower case, or an empty string, in any encoding."""
    text = head.replace(b"\0", b"")  # UTF-16 as ASCII
    first, *rest = text.split(b"<!--")
    uncommented = first + b"".join(piece.partition(b"-->")[2] for piece in rest)
    root = _ROOT.search(uncommented)
    return root[1].decode("ascii", "replace").lower() if root else ""
