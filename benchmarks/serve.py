"""What the service costs over the bare extractor: HTTP, Serve and its batches, on the same documents and cores.

The load comes from this process and takes its share of the same cores, so it is sent over plain sockets.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.serving import serving
from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor

#: How long there is load before anything is measured.
WARM_SECONDS = 5
Fields = list[tuple[str, tuple[int, ...]]]
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


def benchmark(
    model: str, documents: Sequence[Document], *, seconds: float = 20, clients: int = 16, repeats: int = 3
) -> dict[str, Any]:
    """Extract in this process, and over HTTP with every client always waiting for an answer, in turn."""
    extractor = Extractor.from_pretrained(model)
    expected = fields_found(extractor, documents)
    bare, rounds = [], []
    start = perf_counter()
    with serving(model) as service:
        startup = perf_counter() - start
        load = Load(service.port, documents)
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
        "replicas": service.replicas,
        "refused": load.refused,
        "different": load.different(expected),
        "startup_seconds": startup,
    }


class Load:
    """Sends documents one after the other over kept connections; remembers what came back."""

    def __init__(self, port: int, documents: Sequence[Document]) -> None:
        self.port, self.refused = port, 0
        self.requests = [request_bytes(document) for document in documents]
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

    def different(self, expected: Sequence[Fields]) -> int:
        """Count the documents whose fields are not the bare extractor's; a tie may fall otherwise in another batch."""
        count = 0
        for body, fields in zip(self.answers, expected, strict=True):
            if body:
                count += fields_told(body) != fields
        return count


def fields_found(extractor: Extractor, documents: Sequence[Document]) -> list[Fields]:
    """Give what the bare extractor finds, to hold the service's answers against."""
    return [[(entity.label, entity.words) for entity in found] for found in extractor.entities(documents)]


def fields_told(body: bytes) -> Fields:
    """Give what the service found, from its answer for one document."""
    (told,) = json.loads(body)["documents"]
    return [(entity["label"], tuple(entity["words"])) for entity in told["entities"]]


def request_bytes(document: Document, *, close: bool = False) -> bytes:
    """Give a whole request for a document's fields; after it the connection is kept, or closed."""
    told = document.to_json()
    pages = [{key: page[key] for key in ("width", "height", "words", "boxes")} for page in told["pages"]]
    body = json.dumps({"id": told["id"], "pages": pages}).encode()
    kind = f"Connection: {'close' if close else 'keep-alive'}\r\nContent-Type: application/json"
    head = f"POST /v1/extract HTTP/1.1\r\nHost: localhost\r\n{kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _extract(extractor: Extractor, documents: Sequence[Document], seconds: float) -> float:
    """Give documents a second; the corpus is gone through as often as there is time."""
    start, count = perf_counter(), 0
    while perf_counter() - start < seconds:
        extractor.entities(documents)
        count += len(documents)
    return count / (perf_counter() - start)
