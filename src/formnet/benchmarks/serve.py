"""What the service costs over the bare extractor: HTTP, Serve and its batches, on the same documents and cores.

The load comes from this process and takes its share of the same cores, so it is sent over plain sockets.
"""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle
from time import perf_counter
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

import numpy as np

from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extractor import Extractor

#: How long the service may take to be ready, and how long there is load before anything is measured.
STARTUP_SECONDS, WARM_SECONDS = 180, 5
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


def benchmark(
    model: str, documents: Sequence[Document], *, seconds: float = 20, clients: int = 16, repeats: int = 3
) -> dict[str, Any]:
    """Extract in this process, and over HTTP with every client always waiting for an answer, in turn."""
    extractor = Extractor.from_pretrained(model)
    expected = [[(e.label, e.words) for e in found] for found in extractor.entities(documents)]
    bare, rounds = [], []
    start = perf_counter()
    with _service(model) as port:
        startup = perf_counter() - start
        load = Load(port, documents)
        for _ in range(repeats):
            bare.append(_extract(extractor, documents, seconds))
            rounds.append(asyncio.run(load.run(clients, seconds)))
    speeds = [len(waits) / seconds for waits in rounds]
    ratios = np.divide(speeds, bare)
    waits = np.concatenate(rounds) * 1e3
    return {
        "ratio_to_extractor": float(np.median(ratios)),
        "ratio_spread": [float(ratios.min()), float(ratios.max())],
        "p50_ms": float(np.percentile(waits, 50)),
        "p99_ms": float(np.percentile(waits, 99)),
        "documents_per_second": float(np.median(speeds)),
        "extractor_documents_per_second": float(np.median(bare)),
        "clients": clients,
        "replicas": _cores(),
        "refused": load.refused,
        "different": load.different(expected),
        "startup_seconds": startup,
    }


class Load:
    """Sends documents one after the other over kept connections; remembers what came back."""

    def __init__(self, port: int, documents: Sequence[Document]) -> None:
        self.port, self.refused = port, 0
        self.requests = [_request(document) for document in documents]
        self.answers: list[bytes] = [b""] * len(documents)

    async def run(self, clients: int, seconds: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Keep so many clients busy; give the seconds that answers took, of those that came in the time measured."""
        waits: list[float] = []
        begin = perf_counter() + WARM_SECONDS
        turn = iter(cycle(range(len(self.requests))))
        async with asyncio.TaskGroup() as together:
            for _ in range(clients):
                together.create_task(self._client(turn, begin, begin + seconds, waits))
        return np.array(waits)

    async def _client(self, turn: Iterator[int], begin: float, end: float, waits: list[float]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while (start := perf_counter()) < end:
            number = next(turn)
            writer.write(self.requests[number])
            head = await reader.readuntil(b"\r\n\r\n")
            length = _LENGTH.search(head)
            assert length is not None
            body = await reader.readexactly(int(length[1]))
            if head[9:12] == b"200":
                self.answers[number] = body
                if begin <= (now := perf_counter()) < end:
                    waits.append(now - start)
            elif head[9:12] == b"503":
                self.refused += 1
                await asyncio.sleep(1)
            else:
                raise SettingsError(f"the service answered {head[9:12].decode()}: {body[:200].decode()}")
        writer.close()

    def different(self, expected: Sequence[Any]) -> int:
        """Count the documents whose fields are not the bare extractor's; a tie may fall otherwise in another batch."""
        count = 0
        for body, fields in zip(self.answers, expected, strict=True):
            if body:
                (told,) = json.loads(body)["documents"]
                count += [(e["label"], tuple(e["words"])) for e in told["entities"]] != fields
        return count


def _request(document: Document) -> bytes:
    told = document.to_json()
    pages = [{key: page[key] for key in ("width", "height", "words", "boxes")} for page in told["pages"]]
    body = json.dumps({"id": told["id"], "pages": pages}).encode()
    head = "POST /v1/extract HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
    return f"{head}{len(body)}\r\n\r\n".encode() + body


def _extract(extractor: Extractor, documents: Sequence[Document], seconds: float) -> float:
    """Give documents a second; the corpus is gone through as often as there is time."""
    start, count = perf_counter(), 0
    while perf_counter() - start < seconds:
        extractor.entities(documents)
        count += len(documents)
    return count / (perf_counter() - start)


@contextmanager
def _service(model: str) -> Iterator[int]:
    """Run the command as a user would, a network a core; give its port once it is ready."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    words = ["serve", "--model", model, "--port", str(port), "--replicas", str(_cores())]
    process = subprocess.Popen([sys.executable, "-m", "formnet.cli", *words], stdout=subprocess.DEVNULL)  # noqa: S603
    try:
        deadline = perf_counter() + STARTUP_SECONDS
        while not _is_ready(port):
            if process.poll() is not None or perf_counter() > deadline:
                raise SettingsError("the service did not start; formnet serve says why.")
            time.sleep(0.2)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def _is_ready(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5) as answer:
            return bool(answer.status == 200)
    except (URLError, OSError):
        return False


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
