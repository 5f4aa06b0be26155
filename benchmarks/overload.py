"""What the service does with twice the load that it can bear, for minutes; and when one of its networks is killed.

Requests go out at a fixed pace whether or not answers come, as those of strangers do.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
import psutil

from benchmarks.serve import Fields, Load, fields_found, fields_told, request_bytes
from benchmarks.serving import Serving, serving
from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor

#: Seconds between looks at memory; at the start, memory may still grow into its place.
LOOK_SECONDS, SETTLING_SECONDS = 5, 60
#: An answer that has not come by then is counted as lost.
PATIENCE = 60


@dataclass
class Tally:
    """What came back."""

    statuses: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)  # of those answered
    refusals: list[float] = field(default_factory=list)  # of those told to come back
    wrong: int = 0

    def told(self) -> dict[str, Any]:
        """Give it as figures."""
        return {
            "requests": sum(self.statuses.values()),
            "answers": dict(self.statuses),
            "wrong_answers": self.wrong,
            "p50_ms": _percentile(self.waits, 50),
            "p99_ms": _percentile(self.waits, 99),
            "longest_ms": _percentile(self.waits, 100),
            "refused_p99_ms": _percentile(self.refusals, 99),
        }


def _percentile(seconds: Sequence[float], percent: float) -> float | None:
    """Give it in milliseconds; nothing where nothing was measured, for JSON has no NaN."""
    return float(np.percentile(seconds, percent)) * 1e3 if seconds else None


def benchmark(
    model: str, documents: Sequence[Document], minutes: float = 10, *, times: float = 2, clients: int = 16
) -> dict[str, Any]:
    """Find what the service can do, ask more of it for so long, then see how soon it is itself again."""
    extractor = Extractor.from_pretrained(model)
    expected = fields_found(extractor, documents)
    del extractor
    with serving(model) as service:
        capacity = len(asyncio.run(Load(service.port, documents).run(clients, 15))) / 15
        if not capacity:
            raise SettingsError("the service answered nothing in 15 seconds.")
        strangers = LoadGenerator(service, documents, expected)
        tally, memory = asyncio.run(strangers.press(times * capacity, minutes * 60))
        recovery = asyncio.run(strangers.recovery())
        killed, _ = asyncio.run(strangers.press(capacity / 2, 40, kill_after=10))
    settled = [held for seconds, held in memory if seconds >= min(SETTLING_SECONDS, minutes * 20)]
    tenth = max(len(settled) // 10, 1)
    first, last = (float(np.median([sum(h.values()) for h in part])) for part in (settled[:tenth], settled[-tenth:]))
    grown = {name: settled[-1].get(name, 0.0) - settled[0].get(name, 0.0) for name in {**settled[0], **settled[-1]}}
    return {
        "capacity_documents_per_second": capacity,
        "pressure": times,
        "minutes": minutes,
        **tally.told(),
        "memory_mb": {
            "begin": first,
            "end": last,
            "most": max(sum(held.values()) for held in settled),
            "growth": last / first - 1,
            "grew_most": dict(sorted(grown.items(), key=lambda item: -item[1])[:5]),
        },
        "recovery_seconds": recovery,
        "network_killed": killed.told(),
        "memory_curve": [[round(seconds), round(sum(held.values()))] for seconds, held in memory],
    }


class LoadGenerator:
    """Many clients that know nothing of each other."""

    def __init__(self, service: Serving, documents: Sequence[Document], expected: Sequence[Fields]) -> None:
        self.service, self.expected = service, expected
        self.requests = [request_bytes(document, close=True) for document in documents]

    async def press(
        self, pace: float, seconds: float, kill_after: float | None = None
    ) -> tuple[Tally, list[tuple[float, dict[str, float]]]]:
        """Send so many requests a second; give what came back, and memory as it went."""
        tally, memory = Tally(), list[tuple[float, dict[str, float]]]()
        start, sent = perf_counter(), 0
        looked, killed = -float(LOOK_SECONDS), kill_after is None
        async with asyncio.TaskGroup() as together:
            while (passed := perf_counter() - start) < seconds:
                for number in range(sent, int(passed * pace)):
                    together.create_task(self._ask(number % len(self.requests), tally))
                sent = max(sent, int(passed * pace))
                if passed - looked >= LOOK_SECONDS:
                    memory.append((passed, memory_mb(self.service.process)))
                    looked = passed
                if not killed and kill_after is not None and passed >= kill_after:
                    kill_network(self.service.process)
                    killed = True
                await asyncio.sleep(0.005)
        return tally, memory

    async def recovery(self) -> float | None:
        """Give the seconds after the last stranger until ten requests in a row are answered; none if they never are."""
        start, tally, row = perf_counter(), Tally(), 0
        while row < 10:
            before = tally.statuses["200"]
            await self._ask(0, tally)
            row = row + 1 if tally.statuses["200"] > before else 0
            if perf_counter() - start > PATIENCE:
                return None
        return perf_counter() - start

    async def _ask(self, number: int, tally: Tally) -> None:
        start = perf_counter()
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await asyncio.open_connection("127.0.0.1", self.service.port)
                writer.write(self.requests[number])
                answer = await reader.read()
                writer.close()
        except (OSError, TimeoutError) as error:
            tally.statuses[type(error).__name__] += 1
            return
        status = answer[9:12].decode() or "hung up"
        tally.statuses[status] += 1
        if status == "503":
            tally.refusals.append(perf_counter() - start)
        if status == "200":
            tally.waits.append(perf_counter() - start)
            tally.wrong += fields_told(answer.partition(b"\r\n\r\n")[2]) != self.expected[number]


def memory_mb(process: int) -> dict[str, float]:
    """Give what a process and its descendants hold in memory of their own, in MB, by what they are called."""
    held: dict[str, float] = defaultdict(float)
    parent = psutil.Process(process)
    for one in (parent, *parent.children(recursive=True)):
        try:
            name = " ".join(one.cmdline()[:1]) or one.name()
            held[name.rpartition("/")[2]] += one.memory_full_info().uss / 2**20
        except psutil.Error:
            continue
    return held


def kill_network(process: int) -> None:
    """Kill one network as the system would, out of memory."""
    for one in psutil.Process(process).children(recursive=True):
        if (one.cmdline() or [""])[0].startswith("ray::ServeReplica:formnet:network"):
            one.kill()
            return
    raise SettingsError("there is no network to kill.")
