"""Overhead of the service over the bare extractor: HTTP, Ray Serve and batching, on the same documents and cores.

The load generator shares the cores with the service, so it uses plain sockets to keep its own cost low.
"""

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from itertools import cycle
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.serving import run_service
from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor

#: Seconds of load before each measurement.
WARM_UP_SECONDS = 5
Fields = list[tuple[str, tuple[int, ...]]]
_CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)", re.IGNORECASE)


def benchmark(
    model: str, documents: Sequence[Document], *, seconds: float = 10, clients: int = 16, repeats: int = 3
) -> dict[str, Any]:
    """Measure throughput in this process and over HTTP alternately, with all clients waiting for a response."""
    extractor = Extractor.from_pretrained(model)
    expected = extract_fields(extractor, documents)
    extractor_speeds, latencies_by_round = [], []
    start = perf_counter()
    with run_service(model) as service:
        startup = perf_counter() - start
        load = ClosedLoopLoad(service.port, documents)
        for _ in range(repeats):
            extractor_speeds.append(_extractor_speed(extractor, documents, seconds))
            latencies_by_round.append(asyncio.run(load.run(clients, seconds)))
    speeds = [len(latencies) / seconds for latencies in latencies_by_round]
    ratios = np.divide(speeds, extractor_speeds)
    latencies_ms = np.concatenate(latencies_by_round) * 1e3
    return {
        "ratio_to_extractor": float(np.median(ratios)),
        "ratio_spread": [float(ratios.min()), float(ratios.max())],
        "p50_ms": float(np.percentile(latencies_ms, 50)),
        "p99_ms": float(np.percentile(latencies_ms, 99)),
        "documents_per_second": float(np.median(speeds)),
        "extractor_documents_per_second": float(np.median(extractor_speeds)),
        "clients": clients,
        "replicas": service.replicas,
        "refused": load.rejected,
        "different": load.count_mismatches(expected),
        "startup_seconds": startup,
    }


class ClosedLoopLoad:
    """Clients that send one document after another over persistent connections; keeps the last response to each."""

    def __init__(self, port: int, documents: Sequence[Document]) -> None:
        self.port, self.rejected = port, 0
        self.requests = [build_request(document) for document in documents]
        self.responses: list[bytes] = [b""] * len(documents)

    async def run(self, clients: int, seconds: float) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Keep the clients busy, and return the latencies in seconds of responses after the warm-up."""
        latencies: list[float] = []
        begin = perf_counter() + WARM_UP_SECONDS
        indices = iter(cycle(range(len(self.requests))))
        async with asyncio.TaskGroup() as group:
            for _ in range(clients):
                group.create_task(self._client(indices, begin, begin + seconds, latencies))
        return np.array(latencies)

    async def _client(self, indices: Iterator[int], begin: float, end: float, latencies: list[float]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while (start := perf_counter()) < end:
            index = next(indices)
            writer.write(self.requests[index])
            head = await reader.readuntil(b"\r\n\r\n")
            length = _CONTENT_LENGTH.search(head)
            assert length is not None
            body = await reader.readexactly(int(length[1]))
            if head[9:12] == b"200":
                self.responses[index] = body
                if begin <= (now := perf_counter()) < end:
                    latencies.append(now - start)
            elif head[9:12] == b"503":
                self.rejected += 1
                await asyncio.sleep(1)
            else:
                raise SettingsError(f"the service responded with {head[9:12].decode()}: {body[:200].decode()}")
        writer.close()

    def count_mismatches(self, expected: Sequence[Fields]) -> int:
        """Count documents with other fields than the bare extractor's; ties may resolve differently between batches."""
        return sum(parse_fields(body) != fields for body, fields in zip(self.responses, expected, strict=True) if body)


def extract_fields(extractor: Extractor, documents: Sequence[Document]) -> list[Fields]:
    """Return the fields that the bare extractor finds, the reference for the service."""
    return [[(entity.label, entity.words) for entity in entities] for entities in extractor.entities(documents)]


def parse_fields(body: bytes) -> Fields:
    """Parse the fields in the service's response to one document."""
    (document,) = json.loads(body)["documents"]
    return [(entity["label"], tuple(entity["words"])) for entity in document["entities"]]


def build_request(document: Document, *, close: bool = False) -> bytes:
    """Build an HTTP request for a document's fields that keeps the connection open, or closes it."""
    data = document.to_json()
    pages = [{key: page[key] for key in ("width", "height", "words", "boxes")} for page in data["pages"]]
    body = json.dumps({"id": data["id"], "pages": pages}).encode()
    headers = f"Connection: {'close' if close else 'keep-alive'}\r\nContent-Type: application/json"
    head = f"POST /v1/extract HTTP/1.1\r\nHost: localhost\r\n{headers}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _extractor_speed(extractor: Extractor, documents: Sequence[Document], seconds: float) -> float:
    """Return documents per second, extracting all documents repeatedly until the time is over."""
    start, count = perf_counter(), 0
    while perf_counter() - start < seconds:
        extractor.entities(documents)
        count += len(documents)
    return count / (perf_counter() - start)
