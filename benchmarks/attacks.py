"""What hostile clients try, and what comes of it: every attempt against a service that runs, one by one."""

import json
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import httpx

from benchmarks.serving import serving
from formnet.errors import SettingsError
from formnet.scale.service.openapi import DOCUMENT

#: The service attacked has small limits, so that reaching them is quick.
SECONDS, MIB, PAGES, PIXELS = 5, 1, 20, 1_000_000
LIMITS = ("--max-bytes", f"{MIB}MiB", "--max-pages", f"{PAGES}", "--max-pixels", f"{PIXELS}", "--seconds", f"{SECONDS}")
#: Longer than any limit of the service's own.
PATIENCE = 60


@dataclass(frozen=True)
class Outcome:
    """What the service answered."""

    status: int  # 0 if it hung up
    code: str  # of the error
    text: str = ""


@dataclass(frozen=True)
class Attempt:
    """Something a client should not get away with, and the answers that are right."""

    kind: str
    name: str
    right: tuple[int, ...]
    send: Callable[["Attacker"], Outcome]
    never: str = ""  # what no answer may hold


class Attacker:
    """A client that knows a key, and every way to misuse it."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

    def ask(self, method: str, route: str, *, key: bytes | str | None = None, **parts: Any) -> Outcome:
        """Send a request; no key means the right one, an empty one none."""
        headers = dict(parts.pop("headers", {}))
        if key is None or key:
            headers["X-API-Key"] = self.key if key is None else key
        address = f"http://127.0.0.1:{self.port}{route}"
        try:
            response = httpx.request(method, address, headers=headers, timeout=PATIENCE, **parts)
        except httpx.TransportError as error:
            return Outcome(0, f"hung up: {type(error).__name__}")
        return outcome(response.status_code, response.text)

    def file(self, content: bytes, name: str = "a.pdf") -> Outcome:
        """Send a file."""
        return self.ask("POST", "/v1/extract", files={"files": (name, content)})

    def json(self, content: bytes) -> Outcome:
        """Send bytes as JSON."""
        return self.ask("POST", "/v1/extract", content=content, headers={"Content-Type": "application/json"})

    def raw(self, *parts: bytes, pause: float = 0.0, length: int | None = None) -> Outcome:
        """Send a request by hand, its body part after part, until the service answers or hangs up."""
        kind = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        head = f"POST /v1/extract HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.key}\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(f"{head}{kind}\r\n\r\n".encode())
            ended = threading.Event()

            def send() -> None:
                try:
                    for part in parts:
                        if ended.wait(pause):
                            return
                        connection.sendall(part)
                except OSError:
                    return

            sending = threading.Thread(target=send, daemon=True)
            sending.start()
            try:
                answer = connection.recv(65536)
            except OSError:
                answer = b""
            ended.set()
            sending.join(PATIENCE)
        if not answer:
            return Outcome(0, "hung up")
        return outcome(int(answer[9:12]), answer.partition(b"\r\n\r\n")[2].decode("utf-8", "replace"))


def outcome(status: int, text: str) -> Outcome:
    """Read an answer's error out of it."""
    try:
        code = json.loads(text)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        code = ""
    return Outcome(status, code, text)


def attack(model: str, attempts: Iterable[Attempt], schema_seconds: int = 0) -> dict[str, Any]:
    """Make every attempt; after each, an honest request must be answered as before the first.

    Then, for so many seconds, schemathesis makes up more.
    """
    program = Path(sys.executable).parent / "schemathesis"
    if schema_seconds and not program.is_file():
        raise SettingsError("schemathesis is not installed; run pip install schemathesis, or do without its requests.")
    key = secrets.token_urlsafe(24)
    rows = []
    with serving(model, *LIMITS, environment={"FORMNET_API_KEYS": key}) as service:
        attacker = Attacker(service.port, key)
        honest = fields_of(attacker.json(json.dumps(DOCUMENT).encode()))
        for attempt in attempts:
            start = perf_counter()
            came = attempt.send(attacker)
            seconds = perf_counter() - start
            after = fields_of(attacker.json(json.dumps(DOCUMENT).encode()))
            leaks = [sign for sign in ("Traceback", "/tmp/", attempt.never) if sign and sign in came.text]  # noqa: S108
            held = came.status in attempt.right and not leaks and after == honest
            rows.append(
                {
                    "kind": attempt.kind,
                    "attempt": attempt.name,
                    "status": came.status,
                    "code": came.code,
                    "seconds": round(seconds, 3),
                    "held": held,
                }
            )
        schema = by_schema(program, service.url, key, schema_seconds) if schema_seconds else None
    held = sum(row["held"] for row in rows)
    return {"attempts": len(rows), "held": held, "limits": list(LIMITS), "rows": rows, "schemathesis": schema}


#: What schemathesis holds answers to; that every document of the right shape is taken is not promised.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)


def by_schema(program: Path, url: str, key: str, seconds: int) -> dict[str, Any]:
    """Have schemathesis make requests up from the OpenAPI document; give what it concludes."""
    options = ["--checks", ",".join(CHECKS), "--max-time", f"{seconds}", "--request-timeout", f"{PATIENCE}"]
    options += ["--header", f"X-API-Key:{key}", "--continue-on-failure", "--no-color"]
    done = subprocess.run([str(program), "run", f"{url}/openapi.json", *options], capture_output=True, text=True)  # noqa: S603
    told = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    return {"seconds": seconds, "checks": list(CHECKS), "passed": done.returncode == 0, "conclusion": told[-12:]}


def fields_of(came: Outcome) -> Any:
    """Give what an honest request is answered with, without its id."""
    assert came.status == 200, came
    return json.loads(came.text)["documents"]
