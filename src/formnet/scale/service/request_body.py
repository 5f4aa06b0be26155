"""A request's body → files or documents, within limits that hold while it still comes in."""

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
from formnet.io.readers.jsonl import Line, from_json, loads
from formnet.scale.service.errors import ApiError, too_busy
from formnet.scale.service.reader import Upload, refuse_long
from formnet.scale.service.settings import Settings

_LONGEST_NAME = 200
#: Requests of the largest size that a door holds at once.
LARGEST_BODIES = 16
#: JSON unpacks to many times its size, most of which is given back: one body at a time.
_PARSING = asyncio.Semaphore(1)


class Store:
    """The bodies that a door holds at once: so many of the largest, and others are told to come back."""

    def __init__(self, settings: Settings) -> None:
        self.most, self.held = LARGEST_BODIES * settings.max_bytes, 0

    @contextmanager
    def shelf(self) -> Iterator[Callable[[int], None]]:
        """Give what to tell of bytes that have come; they count until the request is over."""
        taken = 0

        def take(count: int) -> None:
            nonlocal taken
            taken += count
            self.held += count
            if self.held > self.most:
                raise too_busy()

        try:
            yield take
        finally:
            self.held -= taken


async def read_body(request: Request, settings: Settings, take: Callable[[int], None]) -> list[Upload] | list[Document]:
    """Take what was sent: files as a form, or documents as JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("multipart/form-data", "application/json"):
        raise ApiError(415, "unknown_kind", "Send files as multipart/form-data, or documents as application/json.")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise ApiError(415, "packed", "Send the body as it is, without Content-Encoding.")
    _refuse_declared(request, settings)
    held = Request(request.scope, _hold(request.receive, settings, take))
    try:
        if kind == "application/json":
            body = await held.body()
            async with _PARSING:
                return await asyncio.to_thread(_documents, body, settings)
        return await _uploads(held, settings)
    except ClientDisconnect as error:
        raise ApiError(400, "cut_off", "The request ended before its body did.") from error


def _refuse_declared(request: Request, settings: Settings) -> None:
    """Refuse at once what says itself that it is too large."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length[:20]) > settings.max_bytes:
        raise _too_large(settings)


def _hold(receive: Receive, settings: Settings, take: Callable[[int], None]) -> Receive:
    """Let through so many bytes for so many seconds."""
    came = 0
    deadline = asyncio.get_running_loop().time() + settings.seconds

    async def held() -> Message:
        nonlocal came
        try:
            async with asyncio.timeout_at(deadline):
                message = await receive()
        except TimeoutError as error:
            limit = f"the limit is {settings.seconds:g} seconds"
            raise ApiError(408, "too_slow", f"The body takes too long to arrive; {limit}.") from error
        size = len(message.get("body", b""))
        came += size
        take(size)
        if came > settings.max_bytes:
            raise _too_large(settings)
        return message

    return held


def _too_large(settings: Settings) -> ApiError:
    return ApiError(413, "too_large", f"The request is larger than the limit of {settings.max_bytes:,} bytes.")


async def _uploads(request: Request, settings: Settings) -> list[Upload]:
    """Give the files of a form, whatever its parts are called."""
    try:
        async with request.form(max_files=settings.max_documents, max_fields=8, max_part_size=1024) as form:
            parts = [part for _, part in form.multi_items() if isinstance(part, UploadFile)]
            files = [Upload(plain_name(part.filename), await part.read()) for part in parts]
    except HTTPException as error:
        raise ApiError(400, "bad_form", f"The form cannot be read: {error.detail}") from error
    if not files:
        raise ApiError(422, "no_file", "The form holds no file; send one or several as 'files'.")
    return files


def _documents(body: bytes, settings: Settings) -> list[Document]:
    """Give the documents of a JSON body: one, a list, or an object with `documents`."""
    try:
        data = loads(Line(Path("body"), 1, body))
    except DocumentError as error:
        raise DocumentError(f"The body {error}") from error
    if isinstance(data, dict) and "documents" in data:
        data = data["documents"]
    items = data if isinstance(data, list) else [data]
    if not items:
        raise DocumentError("The body holds no document.")
    if len(items) > settings.max_documents:
        raise ApiError(
            413, "too_large", f"{len(items):,} documents; the limit is {settings.max_documents:,} a request."
        )
    for item in items:
        _refuse_long_json(item, settings)
    documents = [from_json(item, words_only=True) for item in items]
    for document in documents:
        refuse_long(document, settings)
    return documents


def _refuse_long_json(item: Any, settings: Settings) -> None:
    """Count before anything is built: a body of empty pages is small, and its documents are not."""
    if not isinstance(item, dict):
        return  # not as documents are, which is told when it is read
    pages = [item] if "words" in item else item.get("pages")
    if not isinstance(pages, list):
        return
    words = sum(len(page["words"]) for page in pages if isinstance(page, dict) and isinstance(page.get("words"), list))
    for count, most, what in ((len(pages), settings.max_pages, "pages"), (words, settings.max_words, "words")):
        if count > most:
            raise LimitError(f"A document has {count:,} {what}; the limit is {most:,}. Split it.")


def plain_name(name: str | None) -> str:
    """Keep of a file's name what can be shown: its last part, without what cannot be seen.

    >>> plain_name("../../etc/passwd"), plain_name("C:\\\\scans\\\\a b.pdf"), plain_name("")
    ('passwd', 'a b.pdf', 'document')
    """
    last = re.split(r"[/\\]", name or "")[-1]
    shown = "".join(c for c in last if c.isprintable())
    return shown[:_LONGEST_NAME].strip() or "document"
