"""JSON files: responses of OCR services, or a single FormNet document."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.glued_words import split_glued_words
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers import azure, document_ai, textract
from formnet.io.readers.fields import type_name
from formnet.io.readers.jsonl import Line, from_json, parse_json
from formnet.io.readers.pages import read_bytes

_SERVICES = (textract, azure, document_ai)


def read(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Document]:
    """Read a file as one document."""
    raw = read_bytes(path, limits)
    try:
        data = parse_json(Line(path, 1, raw))
    except DocumentError as error:
        raise DocumentError(f"{path}: {error}") from error
    del raw
    yield parse(data, path, limits)


def parse(data: Any, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Build a document from the parsed JSON of any supported service, or of FormNet."""
    for service in _SERVICES:
        if service.is_response(data):
            document: Document = service.parse(data, path, limits)
            return split_glued_words(document)
    if isinstance(data, dict) and ("pages" in data or {"words", "boxes"} <= data.keys()):
        try:
            return from_json(data, base=path.parent, limits=limits)
        except DocumentError as error:
            raise type(error)(f"{path}: {error}") from error
    supported = ", ".join(service.TEXT_SOURCE for service in _SERVICES)
    found = f"an object with {', '.join(map(repr, list(data)[:4]))}" if isinstance(data, dict) else type_name(data)
    raise DocumentError(
        f"{path}: unsupported JSON: {found[:200]}. Supported are responses of {supported}, and FormNet documents."
    )
