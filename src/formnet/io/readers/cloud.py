"""What OCR services answer, kept as JSON; a document of our own may stand alone in a file too."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.date_ranges import split_ranges
from formnet.io.readers import azure, document_ai, textract
from formnet.io.readers.fields import called
from formnet.io.readers.jsonl import Line, from_json, loads
from formnet.io.readers.pages import read_whole

_SERVICES = (textract, azure, document_ai)


def read(path: Path) -> Iterator[Document]:
    """Give the file as one document."""
    raw = read_whole(path)
    try:
        data = loads(Line(path, 1, raw))
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from error
    del raw
    yield parse(data, path)


def parse(data: Any, path: Path) -> Document:
    """Give the document that parsed JSON says, by whoever wrote it."""
    for service in _SERVICES:
        if service.wrote(data):
            document: Document = service.parse(data, path)
            return split_ranges(document)
    if isinstance(data, dict) and ("pages" in data or {"words", "boxes"} <= data.keys()):
        try:
            return from_json(data, base=path.parent)
        except DocumentError as error:
            raise type(error)(f"{path}: {error}") from error
    known = ", ".join(service.READ_BY for service in _SERVICES)
    held = f"an object with {', '.join(map(repr, list(data)[:4]))}" if isinstance(data, dict) else called(data)
    raise DocumentError(
        f"{path}: is JSON, but of no kind that can be read: known are answers of {known}, and FormNet's own documents. "
        f"This is {held[:200]}."
    )
