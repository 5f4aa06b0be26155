"""Search for the request within the limits that delays an honest one most."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from io import BytesIO
from queue import Queue
from time import perf_counter, sleep
from typing import Any

import httpx
import numpy as np
from PIL import Image, ImageDraw

from benchmarks.attack_list import slow_pdf
from benchmarks.serving import run_service
from formnet.scale.service.openapi import EXAMPLE_DOCUMENT
from formnet.scale.service.settings import ServiceSettings

#: Seconds between two honest requests, and seconds until one counts as lost.
_PAUSE, _TIMEOUT = 0.25, 300
#: After an attack, honest requests must be this fast before the next one starts.
_RECOVERED_SECONDS = 1.0
#: A word of eight tokens in any vocabulary with punctuation.
_WORD = "#-#-#-#-"
_TOKENS_PER_WORD = 8

Request = Mapping[str, Any]  # arguments of `httpx.AsyncClient.request`


def candidates(max_tokens: int, max_documents: int) -> Iterator[tuple[str, Request]]:
    """Yield hostile requests within the limits: the largest documents in several layouts, many documents, and files."""
    words = max_tokens // _TOKENS_PER_WORD
    yield "no other request", {"method": "GET", "url": "/healthz"}
    for layout in ("line", "grid", "identical boxes"):
        yield f"longest document, {layout}", _json(_document([_WORD] * words, layout))
    yield "longest document, words of one token", _json(_document(["a"] * max_tokens, "grid"))
    yield f"{max_documents} longest documents", _json([_document([_WORD] * words, "grid")] * max_documents)
    for tokens in (1024, 1032, 512):
        document = _document([_WORD] * (tokens // _TOKENS_PER_WORD), "grid")
        yield f"{max_documents} documents of {tokens:,} tokens", _json([document] * max_documents)
    yield f"{max_documents} images of text", _files([_image()] * max_documents)
    yield f"{max_documents} slow PDFs", _files([slow_pdf()] * max_documents)


def search(model: str, seconds: float, names: str = "") -> dict[str, Any]:
    """Start the service, and measure all candidates, or those whose name contains a text."""
    settings = ServiceSettings()
    every = candidates(settings.max_tokens, settings.max_documents)
    chosen = {name: request for name, request in every if names in name}
    with run_service(model, "--replicas", "1") as service:
        rows = measure_requests(service.url, chosen, seconds)
    worst = max(rows, key=lambda row: row["p99_seconds"])
    return {"seconds_per_request": seconds, "worst": worst, "requests": rows}


def measure_requests(
    url: str, requests: Mapping[str, Request], seconds: float, headers: Mapping[str, str] | None = None
) -> list[dict[str, Any]]:
    """Send each request again and again for some seconds, and measure honest requests meanwhile."""
    rows = []
    with httpx.Client(base_url=url, timeout=_TIMEOUT, headers=headers) as client:
        reference = _honest(client)
        for name, request in requests.items():
            with _attack(url, request, headers) as statuses:
                latencies, is_equal = _measure(client, seconds, reference)
            recovery = _recovery_seconds(client)
            rows.append(
                {
                    "request": name,
                    "statuses": {str(status): statuses.count(status) for status in sorted(set(statuses))},
                    "honest_requests": len(latencies),
                    "honest_answers_equal": is_equal,
                    "p50_seconds": round(float(np.percentile(latencies, 50)), 3),
                    "p99_seconds": round(float(np.percentile(latencies, 99)), 3),
                    "max_seconds": round(max(latencies), 3),
                    "recovery_seconds": round(recovery, 1),
                }
            )
    return rows


def _measure(client: httpx.Client, seconds: float, reference: Any) -> tuple[list[float], bool]:
    """Send honest requests one after the other, and return their latencies and whether all answers were correct."""
    latencies, is_equal = [], True
    end = perf_counter() + seconds
    while perf_counter() < end:
        start = perf_counter()
        is_equal = _honest(client) == reference and is_equal
        latencies.append(perf_counter() - start)
        sleep(_PAUSE)
    return latencies, is_equal


def _honest(client: httpx.Client) -> Any:
    """Send one document, again after each delay that the service asks for, and return its response."""
    while (response := client.post("/v1/extract", json=EXAMPLE_DOCUMENT)).status_code == 503:
        sleep(float(response.headers["Retry-After"]))
    response.raise_for_status()
    return response.json()["documents"]


def _recovery_seconds(client: httpx.Client) -> float:
    """Return the seconds until an honest request is fast again."""
    start = perf_counter()
    while True:
        sent = perf_counter()
        _honest(client)
        if perf_counter() - sent < _RECOVERED_SECONDS:
            return sent - start


@contextmanager
def _attack(url: str, request: Request, headers: Mapping[str, str] | None) -> Iterator[list[int]]:
    """Repeat a request in another thread; disconnect when the context exits. Yield the list of status codes."""
    statuses: list[int] = []
    started: Queue[tuple[asyncio.AbstractEventLoop, asyncio.Task[None]]] = Queue()

    async def repeat() -> None:
        task = asyncio.current_task()
        assert task
        started.put((asyncio.get_running_loop(), task))
        async with httpx.AsyncClient(base_url=url, timeout=_TIMEOUT, headers=headers) as client:
            while True:
                try:
                    response = await client.request(**request)
                    statuses.append(response.status_code)
                except httpx.TransportError:  # disconnected
                    statuses.append(0)

    def run() -> None:
        with suppress(asyncio.CancelledError):
            asyncio.run(repeat())

    thread = threading.Thread(target=run)
    thread.start()
    loop, task = started.get()
    sleep(1)
    try:
        yield statuses
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join()


def _json(body: Any) -> Request:
    headers = {"Content-Type": "application/json"}
    return {"method": "POST", "url": "/v1/extract", "content": json.dumps(body).encode(), "headers": headers}


def _files(contents: list[bytes]) -> Request:
    files = [("files", (f"{number}", content)) for number, content in enumerate(contents)]
    return {"method": "POST", "url": "/v1/extract", "files": files}


def _document(words: list[str], layout: str) -> dict[str, Any]:
    columns = {"line": len(words), "grid": 20, "identical boxes": 1}[layout]
    rows = -(-len(words) // columns)
    if layout == "identical boxes":
        boxes = [[0, 0, 10, 10]] * len(words)
    else:
        boxes = [[10 * (i % columns), 10 * (i // columns), 10 * (i % columns) + 9, 10 * (i // columns) + 9]
                 for i in range(len(words))]  # fmt: skip
    page = {"width": 10 * columns, "height": 10 * max(rows, 1), "words": words, "boxes": boxes}
    return {"id": "a", "pages": [page]}


def _image() -> bytes:
    """Draw a page full of short words, which OCR takes long to read."""
    image = Image.new("L", (1600, 2000), "white")
    draw = ImageDraw.Draw(image)
    for y in range(10, 1980, 22):
        draw.text((10, y), "total 12.50 " * 20, fill="black", font_size=16)
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
