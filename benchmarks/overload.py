"""Behavior of the service under twice its capacity for minutes, and after one of its model replicas is killed.

Requests are sent at a fixed rate, independent of responses.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import psutil

from benchmarks.serve import ClosedLoopLoad, Fields, build_request, extract_fields, parse_fields
from benchmarks.serving import RunningService, run_service
from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor

#: Seconds between memory samples, and seconds at the start that are excluded from memory growth.
SAMPLE_SECONDS, SETTLING_SECONDS = 5, 60
#: Seconds after which a request counts as lost, and after which recovery is given up.
TIMEOUT = 60


@dataclass
class ResponseStats:
    """Status codes and latencies of responses."""

    statuses: Counter[str] = field(default_factory=Counter)
    latencies: list[float] = field(default_factory=list)  # of status 200
    rejection_latencies: list[float] = field(default_factory=list)  # of status 503
    wrong: int = 0

    def to_json(self) -> dict[str, Any]:
        """Return counts and percentiles as plain data."""
        return {
            "requests": sum(self.statuses.values()),
            "answers": dict(self.statuses),
            "wrong_answers": self.wrong,
            "p50_ms": _percentile_ms(self.latencies, 50),
            "p99_ms": _percentile_ms(self.latencies, 99),
            "longest_ms": _percentile_ms(self.latencies, 100),
            "refused_p99_ms": _percentile_ms(self.rejection_latencies, 99),
        }


def _percentile_ms(seconds: Sequence[float], percent: float) -> float | None:
    """Return a percentile in milliseconds; None without values, because JSON has no NaN."""
    return float(np.percentile(seconds, percent)) * 1e3 if seconds else None


def benchmark(
    model: str, documents: Sequence[Document], minutes: float = 10, *, times: float = 2, clients: int = 16
) -> dict[str, Any]:
    """Measure the capacity, send a multiple of it, measure the recovery, and kill a replica under half the load."""
    extractor = Extractor.from_pretrained(model)
    expected = extract_fields(extractor, documents)
    del extractor
    with run_service(model) as service:
        capacity = len(asyncio.run(ClosedLoopLoad(service.port, documents).run(clients, 15))) / 15
        if not capacity:
            raise SettingsError("the service sent no response within 15 seconds. Check it with formnet serve.")
        load = LoadGenerator(service, documents, expected)
        stats, memory = asyncio.run(load.send(times * capacity, minutes * 60))
        recovery = asyncio.run(load.recovery_seconds())
        stats_after_kill, _ = asyncio.run(load.send(capacity / 2, 40, kill_after=10))
    settled = [sample for seconds, sample in memory if seconds >= min(SETTLING_SECONDS, minutes * 20)]
    tenth = max(len(settled) // 10, 1)
    first, last = (float(np.median([sum(s.values()) for s in part])) for part in (settled[:tenth], settled[-tenth:]))
    growth = {name: settled[-1].get(name, 0.0) - settled[0].get(name, 0.0) for name in {**settled[0], **settled[-1]}}
    return {
        "capacity_documents_per_second": capacity,
        "pressure": times,
        "minutes": minutes,
        **stats.to_json(),
        "memory_mb": {
            "begin": first,
            "end": last,
            "most": max(sum(sample.values()) for sample in settled),
            "growth": last / first - 1,
            "grew_most": dict(sorted(growth.items(), key=lambda item: -item[1])[:5]),
        },
        "recovery_seconds": recovery,
        "network_killed": stats_after_kill.to_json(),
        "memory_curve": [[round(seconds), round(sum(sample.values()))] for seconds, sample in memory],
    }


class LoadGenerator:
    """Independent clients that send one request per connection."""

    def __init__(self, service: RunningService, documents: Sequence[Document], expected: Sequence[Fields]) -> None:
        self.service, self.expected = service, expected
        self.requests = [build_request(document, close=True) for document in documents]

    async def send(
        self, rate: float, seconds: float, kill_after: float | None = None
    ) -> tuple[ResponseStats, list[tuple[float, dict[str, float]]]]:
        """Send requests at a rate per second, and return response statistics and memory samples."""
        stats, memory = ResponseStats(), list[tuple[float, dict[str, float]]]()
        start, sent = perf_counter(), 0
        sampled, killed = -float(SAMPLE_SECONDS), kill_after is None
        async with asyncio.TaskGroup() as group:
            while (elapsed := perf_counter() - start) < seconds:
                for number in range(sent, int(elapsed * rate)):
                    group.create_task(self._request(number % len(self.requests), stats))
                sent = max(sent, int(elapsed * rate))
                if elapsed - sampled >= SAMPLE_SECONDS:
                    memory.append((elapsed, memory_mb(self.service.process)))
                    sampled = elapsed
                if not killed and kill_after is not None and elapsed >= kill_after:
                    kill_model_replica(self.service.process)
                    killed = True
                await asyncio.sleep(0.005)
        return stats, memory

    async def recovery_seconds(self) -> float | None:
        """Return the seconds until ten consecutive requests succeed; None after the timeout."""
        start, stats, consecutive = perf_counter(), ResponseStats(), 0
        while consecutive < 10:
            before = stats.statuses["200"]
            await self._request(0, stats)
            consecutive = consecutive + 1 if stats.statuses["200"] > before else 0
            if perf_counter() - start > TIMEOUT:
                return None
        return perf_counter() - start

    async def _request(self, index: int, stats: ResponseStats) -> None:
        start = perf_counter()
        try:
            async with asyncio.timeout(TIMEOUT):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.service.port)
                writer.write(self.requests[index])
                response = await reader.read()
                writer.close()
        except (OSError, TimeoutError) as error:
            stats.statuses[type(error).__name__] += 1
            return
        status = response[9:12].decode() or "hung up"
        stats.statuses[status] += 1
        if status == "503":
            stats.rejection_latencies.append(perf_counter() - start)
        if status == "200":
            stats.latencies.append(perf_counter() - start)
            stats.wrong += parse_fields(response.partition(b"\r\n\r\n")[2]) != self.expected[index]


def memory_mb(process_id: int) -> dict[str, float]:
    """Return the unique memory of a process and its descendants in MiB, summed by command name."""
    by_name: dict[str, float] = defaultdict(float)
    parent = psutil.Process(process_id)
    for process in (parent, *parent.children(recursive=True)):
        try:
            name = " ".join(process.cmdline()[:1]) or process.name()
            by_name[name.rpartition("/")[2]] += process.memory_full_info().uss / 2**20
        except psutil.Error:
            continue
    return by_name


def kill_model_replica(process_id: int) -> None:
    """Kill one model replica, as the kernel does when memory runs out."""
    for process in psutil.Process(process_id).children(recursive=True):
        with suppress(psutil.Error):  # it may have ended
            if (process.cmdline() or [""])[0].startswith("ray::ServeReplica:formnet:model"):
                process.kill()
                return
    raise SettingsError("no model replica is running. Check the service with formnet serve.")
