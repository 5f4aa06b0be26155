"""Parse the body of a request into files or documents, checking limits while it is received."""

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import Message, Receive

from formnet.document import Document
from formnet.errors import DocumentError, LimitError
from formnet.io.file_types import PARQUET_MAGIC
from formnet.io.readers.jsonl import Line, from_json, parse_json
from formnet.scale.service.errors import ApiError, overloaded_error
from formnet.scale.service.reader import Upload
from formnet.scale.service.settings import ServiceSettings

#: Memory for request bodies per ingress replica, as a multiple of the maximum size of one body.
MAX_BUFFERED_BODIES = 16
#: Maximum bytes of a JSON body. Parsing blocks all other requests of this process; files are parsed elsewhere.
MAX_JSON_BYTES = 4 * 2**20
_MAX_NAME_LENGTH = 200
#: Parsed JSON temporarily takes many times its size, so bodies are parsed one at a time.
_PARSING = asyncio.Semaphore(1)


class BodyBuffer:
    """The total size of the request bodies in memory; bodies beyond the limit are rejected."""

    def __init__(self, settings: ServiceSettings) -> None:
        self.max_bytes, self.used_bytes = MAX_BUFFERED_BODIES * settings.max_bytes, 0

    @contextmanager
    def reserve(self) -> Iterator[Callable[[int], None]]:
        """Yield a function that reserves a number of bytes; they are released when the context exits."""
        reserved = 0

        def add(count: int) -> None:
            nonlocal reserved
            reserved += count
            self.used_bytes += count
            if self.used_bytes > self.max_bytes:
                raise overloaded_error()

        try:
            yield add
        finally:
            self.used_bytes -= reserved


async def read_body(
    request: Request, settings: ServiceSettings, reserve: Callable[[int], None]
) -> list[Upload] | list[Document]:
    """Read the body of a request: files as a form, or documents as JSON."""
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type not in ("multipart/form-data", "application/json"):
        problem = "Unsupported content type. Send files as multipart/form-data, or documents as application/json."
        raise ApiError(415, "unsupported_media_type", problem)
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ApiError(415, "unsupported_encoding", "Content-Encoding is not supported. Send the body uncompressed.")
    is_json = content_type == "application/json"
    max_bytes = min(settings.max_bytes, MAX_JSON_BYTES) if is_json else settings.max_bytes
    _check_content_length(request, max_bytes)
    limited = Request(request.scope, _limit_receive(request.receive, settings.timeout, max_bytes, reserve))
    try:
        if is_json:
            body = await limited.body()
            async with _PARSING:
                return await asyncio.to_thread(_parse_documents, body, settings)
        return await _read_uploads(limited, settings)
    except ClientDisconnect as error:
        raise ApiError(400, "incomplete_body", "The connection was closed before the end of the body.") from error


def _check_content_length(request: Request, max_bytes: int) -> None:
    """Reject a request whose declared length exceeds the limit."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > max_bytes:
        raise _too_large_error(max_bytes)


def _limit_receive(receive: Receive, timeout: float, max_bytes: int, reserve: Callable[[int], None]) -> Receive:
    """Wrap `receive` so that it raises `ApiError` when the body is too large or takes too long."""
    received = 0
    deadline = asyncio.get_running_loop().time() + timeout

    async def limited() -> Message:
        nonlocal received
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError as error:
            problem = f"The body was not received within {timeout:g} seconds (the limit)."
            raise ApiError(408, "request_timeout", problem) from error
        size = len(message.get("body", b""))
        received += size
        reserve(size)
        if received > max_bytes:
            raise _too_large_error(max_bytes)
        return message

    return limited


def _too_large_error(max_bytes: int) -> ApiError:
    hint = " Send large documents as files." if max_bytes == MAX_JSON_BYTES else ""
    return ApiError(413, "too_large", f"The request is larger than {max_bytes:,} bytes (the limit).{hint}")


async def _read_uploads(request: Request, settings: ServiceSettings) -> list[Upload]:
    """Read the files of a form, regardless of their field names."""
    try:
        async with request.form(max_files=settings.max_documents, max_fields=8, max_part_size=1024) as form:
            parts = [part for _, part in form.multi_items() if isinstance(part, UploadFile)]
            files = [Upload(display_name(part.filename), await part.read()) for part in parts]
    except HTTPException as error:
        raise ApiError(400, "invalid_multipart", f"The form cannot be parsed: {error.detail}") from error
    for file in files:
        if file.content.startswith(PARQUET_MAGIC):
            problem = f"{file.name}: Parquet is not accepted. Send the documents as JSON, or use formnet bulk."
            raise ApiError(422, "invalid_document", problem)
    if not files:
        raise ApiError(422, "missing_file", "The form contains no file. Send one or more files as 'files'.")
    return files


def _parse_documents(body: bytes, settings: ServiceSettings) -> list[Document]:
    """Parse the documents of a JSON body: one document, a list, or an object with `documents`."""
    try:
        data = parse_json(Line(Path("body"), 1, body))
    except DocumentError as error:
        raise DocumentError(f"The body {error}") from error
    if isinstance(data, dict) and "documents" in data:
        data = data["documents"]
    items = data if isinstance(data, list) else [data]
    if not items:
        raise DocumentError("The body contains no document.")
    if len(items) > settings.max_documents:
        raise ApiError(413, "too_large", f"{len(items):,} documents in one request (limit {settings.max_documents:,}).")
    for item in items:
        _check_json_size(item, settings)
    return [from_json(item, words_only=True, limits=settings.read_limits) for item in items]


def _check_json_size(item: Any, settings: ServiceSettings) -> None:
    """Check the numbers of pages and words before building a document, which takes more memory than its JSON."""
    if not isinstance(item, dict):
        return  # `from_json` raises the error
    pages = [item] if "words" in item else item.get("pages")
    if not isinstance(pages, list):
        return
    words = sum(len(page["words"]) for page in pages if isinstance(page, dict) and isinstance(page.get("words"), list))
    for count, limit, unit in ((len(pages), settings.max_pages, "pages"), (words, settings.max_words, "words")):
        if count > limit:
            raise LimitError(f"A document has {count:,} {unit} (limit {limit:,}). Split the document.")


def display_name(name: str | None) -> str:
    """Return the last component of a file name without unprintable characters.

    >>> display_name("../../etc/passwd"), display_name("C:\\\\scans\\\\a b.pdf"), display_name("")
    ('passwd', 'a b.pdf', 'document')
    """
    last = re.split(r"[/\\]", name or "")[-1]
    printable = "".join(c for c in last if c.isprintable())
    return printable[:_MAX_NAME_LENGTH].strip() or "document"
