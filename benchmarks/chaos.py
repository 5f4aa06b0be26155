"""Chaos run: honest and hostile requests, while processes of the service are killed and its disk is full for a while.

Everything is bounded and stays on this machine: the service listens on the loopback address only, and its temporary
files are on a small disk in memory.
"""

import random
import secrets
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from getpass import getuser
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import perf_counter, sleep
from typing import Any

import httpx
import numpy as np
import psutil
from PIL import Image

from benchmarks.attack_list import attempts
from benchmarks.attacks import LIMITS, PIXELS, Attacker
from benchmarks.hostile_files import write_pdf
from benchmarks.overload import memory_mb
from benchmarks.serving import run_service
from formnet.document import Document
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor

#: Seconds between two kills, at least and at most; seconds without space on the disk; seconds between memory samples.
_KILL_SECONDS, _FULL_SECONDS, _SAMPLE_SECONDS = (10.0, 40.0), 60.0, 5.0
#: Seconds until an honest request counts as lost, until it must be answered again after the last kill, and until all
#: processes must have ended after the shutdown.
_TIMEOUT, _RECOVERY_SECONDS, _SHUTDOWN_SECONDS = 120.0, 60.0, 30.0
_HONEST_CLIENTS = 2
_DISK_BYTES = 512 * 2**20
#: Start of the command line of each kind of process that is killed; readers are child processes of a replica.
_VICTIMS = {
    "model replica": "ray::ServeReplica:formnet:model",
    "reader replica": "ray::ServeReplica:formnet:reader",
    "ingress replica": "ray::ServeReplica:formnet:ingress",
    "reader process": "",
}
#: Time limit for a file: a photo takes four seconds on an idle core, and here cores are shared.
_SECONDS_PER_FILE = "20"
#: Statuses of rejected requests whose cause is the service, not the request.
_UNAVAILABLE = (500, 502, 503, 504)


@dataclass
class _Log:
    """What honest and hostile clients saw."""

    honest: Counter[str] = field(default_factory=Counter)  # by status and code
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)  # neither an answer nor an error of the service
    hostile: Counter[str] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)  # responses to hostile requests
    latencies: list[float] = field(default_factory=list)  # of honest requests that were answered
    kills: Counter[str] = field(default_factory=Counter)


def run(
    model: str, documents: Sequence[Document], image: Path, minutes: float, seed: int = 0, options: Sequence[str] = ()
) -> dict[str, Any]:
    """Run the service under attack, and return what clients saw, its memory, and what is left after the shutdown."""
    log, key = _Log(), secrets.token_urlsafe(24)
    unanswered = _honest_requests(model, documents, image)
    with small_disk() as disk:
        # Compiled kernels are kept elsewhere, so that a replica that was killed starts again in seconds.
        cache = Path(gettempdir()) / f"torchinductor_{getuser()}"
        environment = {"FORMNET_API_KEYS": key, "TMPDIR": str(disk), "TORCHINDUCTOR_CACHE_DIR": str(cache)}
        with run_service(model, *LIMITS, "--timeout", _SECONDS_PER_FILE, *options, environment=environment) as service:
            attacker = Attacker(service.port, key)
            requests = [
                (name, parts, _answer(_send(attacker, parts)) if expected is None else expected)
                for name, parts, expected in unanswered
            ]
            stop = threading.Event()
            clients = [
                threading.Thread(target=_send_honest, args=(attacker, requests, log, stop, seed + number))
                for number in range(_HONEST_CLIENTS)
            ]
            clients.append(threading.Thread(target=_send_hostile, args=(attacker, log, stop, seed)))
            for client in clients:
                client.start()
            try:
                memory = _disturb(service.process, disk, log, minutes * 60, random.Random(seed))
            finally:
                stop.set()
                for client in clients:
                    client.join()
            recovered = sum(_recovers(attacker, parts, expected) for _, parts, expected in requests)
            processes = psutil.Process(service.process).children(recursive=True)
        _, left = psutil.wait_procs(processes, _SHUTDOWN_SECONDS)
        files = [
            path.relative_to(disk).as_posix()
            for path in sorted(disk.rglob("*"))
            if path.relative_to(disk).parts[0].startswith(("formnet", "tmp"))
        ]
    return {
        "minutes": minutes,
        "honest": dict(log.honest.most_common()),
        "honest_requests": log.honest.total() + len(log.lost),
        "wrong_answers": log.wrong,
        "lost_requests": log.lost,
        "p50_seconds": round(float(np.percentile(log.latencies, 50)), 3),
        "p99_seconds": round(float(np.percentile(log.latencies, 99)), 3),
        "hostile": dict(log.hostile.most_common()),
        "unexpected_responses": log.unexpected,
        "kills": dict(log.kills),
        "disk_full_seconds": min(_FULL_SECONDS, minutes * 30),
        "correct_after_recovery": f"{recovered} of {len(requests)}",
        "memory_mb": _summarize_memory(memory),
        "processes_left": [process.pid for process in left],
        "files_left": files,
    }


@contextmanager
def small_disk() -> Iterator[Path]:
    """Mount a small disk in memory."""
    with TemporaryDirectory(prefix="chaos-", dir="/tmp", ignore_cleanup_errors=True) as name:  # Ray needs a short path
        mount = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_BYTES}", "tmpfs", name]
        if subprocess.run(mount, capture_output=True, check=False).returncode:  # noqa: S603
            raise SettingsError("a small disk cannot be mounted. Run the chaos benchmark as root.")
        try:
            yield Path(name)
        finally:
            subprocess.run(["umount", "--lazy", name], check=True)  # noqa: S603, S607


Parts = dict[str, Any]  # arguments of a request
Answer = list[tuple[str, str]]  # label and text of each entity


def _honest_requests(model: str, documents: Sequence[Document], image: Path) -> list[tuple[str, Parts, Answer | None]]:
    """Return documents with the extractor's own answers, a PDF and an image whose first answers are the reference."""
    extractor = Extractor.from_pretrained(model)
    requests: list[tuple[str, Parts, Answer | None]] = []
    for document, entities in zip(documents, extractor.entities(documents), strict=True):
        answer = [(entity.label, entity.text) for entity in entities]
        data = {"id": document.id, "pages": document.to_json()["pages"]}
        requests.append((document.id, {"json": data}, answer))
    with TemporaryDirectory() as folder, Image.open(image) as picture:
        write_pdf(Path(folder) / "a.pdf", ["Invoice 17", "Date 14/06/2024", "Total 12.50"])
        requests.append(("PDF", {"files": {"files": ("a.pdf", (Path(folder) / "a.pdf").read_bytes())}}, None))
        picture.thumbnail((1000, PIXELS // 1000))
        file = BytesIO()
        picture.convert("RGB").save(file, "JPEG")
        requests.append(("image", {"files": {"files": ("a.jpg", file.getvalue())}}, None))
    return requests


def _send(attacker: Attacker, parts: Parts) -> httpx.Response:
    url = f"http://127.0.0.1:{attacker.port}/v1/extract"
    return httpx.post(url, headers={"X-API-Key": attacker.key}, timeout=_TIMEOUT, **parts)


def _answer(response: httpx.Response) -> Answer:
    response.raise_for_status()
    (document,) = response.json()["documents"]
    return [(entity["label"], entity["text"]) for entity in document["entities"]]


def _recovers(attacker: Attacker, parts: Parts, expected: Answer) -> bool:
    """Return whether a request is answered correctly once replicas have started again."""
    deadline = perf_counter() + _RECOVERY_SECONDS
    while perf_counter() < deadline:
        with suppress(httpx.HTTPError):
            return _answer(_send(attacker, parts)) == expected
        sleep(1)
    return False


def _send_honest(
    attacker: Attacker, requests: Sequence[tuple[str, Parts, Answer]], log: _Log, stop: threading.Event, seed: int
) -> None:
    rng = random.Random(seed)
    while not stop.wait(rng.uniform(0, 0.5)):
        name, parts, expected = rng.choice(requests)
        start = perf_counter()
        try:
            response = _send(attacker, parts)
        except httpx.TransportError as error:
            log.lost.append(f"{name}: {type(error).__name__}")
            continue
        if response.status_code == 200:
            log.honest["200"] += 1
            log.latencies.append(perf_counter() - start)
            if (answer := _answer(response)) != expected:
                log.wrong.append(f"{name}: {answer}")
            continue
        try:
            code = response.json()["error"]["code"]
        except (ValueError, KeyError, TypeError):
            log.lost.append(f"{name}: status {response.status_code} without an error code")
        else:
            log.honest[f"{response.status_code} {code}"] += 1


def _send_hostile(attacker: Attacker, log: _Log, stop: threading.Event, seed: int) -> None:
    rng, choices = random.Random(seed), list(attempts())
    while not stop.wait(rng.uniform(0, 0.2)):
        attempt = rng.choice(choices)
        try:
            outcome = attempt.send(attacker)
        except OSError as error:
            log.hostile[type(error).__name__] += 1
            continue
        log.hostile[f"{outcome.status} {outcome.code}".strip()] += 1
        leaks = attempt.forbidden and attempt.forbidden in outcome.text
        # On a busy machine, any file may reach its time limit.
        is_accepted = outcome.status in (*attempt.accepted, 0, *_UNAVAILABLE) or outcome.code == "processing_timeout"
        if leaks or not is_accepted:
            log.unexpected.append(f"{attempt.kind}: {attempt.name}: {outcome.status} {outcome.code}")


def _disturb(process: int, disk: Path, log: _Log, seconds: float, rng: random.Random) -> list[tuple[float, float]]:
    """Kill processes at random, fill the disk once, and return memory samples."""
    start = perf_counter()
    ballast = disk / "ballast"
    full_from = seconds / 2
    full_until = full_from + min(_FULL_SECONDS, full_from)
    next_kill, samples = rng.uniform(*_KILL_SECONDS), [(0.0, sum(memory_mb(process).values()))]
    while (elapsed := perf_counter() - start) < seconds:
        if elapsed > next_kill:
            kind = rng.choice(list(_VICTIMS))
            log.kills[kind] += _kill(process, kind, rng)
            next_kill = elapsed + rng.uniform(*_KILL_SECONDS)
        if full_from < elapsed < full_until:
            _fill(ballast)
        elif ballast.exists():
            ballast.unlink()
        if elapsed - samples[-1][0] >= _SAMPLE_SECONDS:
            samples.append((elapsed, sum(memory_mb(process).values())))
        sleep(0.5)
    ballast.unlink(missing_ok=True)
    return samples


def _kill(process: int, kind: str, rng: random.Random) -> int:
    """Kill one process of a kind; return the number of processes that were killed."""
    found = []
    for child in psutil.Process(process).children(recursive=True):
        try:
            if kind == "reader process":
                is_victim = child.parent().cmdline()[0].startswith(_VICTIMS["reader replica"])  # type: ignore[union-attr]
            else:
                is_victim = child.cmdline()[0].startswith(_VICTIMS[kind])
        except (psutil.Error, IndexError, AttributeError):  # it has ended
            continue
        if is_victim:
            found.append(child)
    if not found:
        return 0
    rng.choice(found).kill()
    return 1


def _fill(path: Path) -> None:
    """Append to a file until the disk is full."""
    try:
        with path.open("ab", buffering=0) as file:
            while True:
                file.write(bytes(2**16))
    except OSError:
        return


def _summarize_memory(samples: list[tuple[float, float]]) -> dict[str, Any]:
    """Compare the medians of the second and the last tenth, because the first tenth includes the warm-up."""
    values = [value for _, value in samples]
    tenth = max(len(values) // 10, 1)
    first, last = (float(np.median(part)) for part in (values[tenth : 2 * tenth] or values, values[-tenth:]))
    return {"begin": round(first), "end": round(last), "max": round(max(values)), "growth": round(last / first - 1, 4)}
