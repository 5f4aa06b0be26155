"""Security test: hostile requests against a running service, one at a time, with a check of each response."""

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

from benchmarks.serving import run_service
from formnet.errors import SettingsError
from formnet.scale.service.openapi import EXAMPLE_DOCUMENT

#: Limits of the attacked service, small so that they are reached quickly.
SERVICE_TIMEOUT, MIB, PAGES, PIXELS = 5, 1, 20, 1_000_000
LIMITS = (
    "--max-bytes",
    f"{MIB}MiB",
    "--max-pages",
    f"{PAGES}",
    "--max-pixels",
    f"{PIXELS}",
    "--timeout",
    f"{SERVICE_TIMEOUT}",
)
#: Client timeout in seconds, longer than any timeout of the service.
CLIENT_TIMEOUT = 60


@dataclass(frozen=True)
class Outcome:
    """The response of the service."""

    status: int  # 0 if the connection was closed
    code: str  # the error code
    text: str = ""


@dataclass(frozen=True)
class Attempt:
    """A hostile request and the status codes that are acceptable."""

    kind: str
    name: str
    accepted: tuple[int, ...]
    send: Callable[["Attacker"], Outcome]
    forbidden: str = ""  # text that no response may contain


class Attacker:
    """A client with a valid API key that sends hostile requests."""

    def __init__(self, port: int, key: str) -> None:
        self.port, self.key = port, key

    def request(self, method: str, route: str, *, key: bytes | str | None = None, **parts: Any) -> Outcome:
        """Send a request; None sends the valid key, an empty key sends none."""
        headers = dict(parts.pop("headers", {}))
        if key is None or key:
            headers["X-API-Key"] = self.key if key is None else key
        url = f"http://127.0.0.1:{self.port}{route}"
        try:
            response = httpx.request(method, url, headers=headers, timeout=CLIENT_TIMEOUT, **parts)
        except httpx.TransportError as error:
            return Outcome(0, f"hung up: {type(error).__name__}")
        return parse_outcome(response.status_code, response.text)

    def file(self, content: bytes, name: str = "a.pdf") -> Outcome:
        """Send a file."""
        return self.request("POST", "/v1/extract", files={"files": (name, content)})

    def json(self, content: bytes) -> Outcome:
        """Send bytes as JSON."""
        return self.request("POST", "/v1/extract", content=content, headers={"Content-Type": "application/json"})

    def raw(self, *parts: bytes, pause: float = 0.0, length: int | None = None) -> Outcome:
        """Send a request over a socket, its body part by part, until the service responds or closes the connection."""
        framing = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
        head = f"POST /v1/extract HTTP/1.1\r\nHost: x\r\nX-API-Key: {self.key}\r\nContent-Type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", self.port), timeout=CLIENT_TIMEOUT) as connection:
            connection.sendall(f"{head}{framing}\r\n\r\n".encode())
            stop = threading.Event()

            def send() -> None:
                try:
                    for part in parts:
                        if stop.wait(pause):
                            return
                        connection.sendall(part)
                except OSError:
                    return

            sender = threading.Thread(target=send, daemon=True)
            sender.start()
            try:
                response = connection.recv(65536)
            except OSError:
                response = b""
            stop.set()
            sender.join(CLIENT_TIMEOUT)
        if not response:
            return Outcome(0, "hung up")
        return parse_outcome(int(response[9:12]), response.partition(b"\r\n\r\n")[2].decode("utf-8", "replace"))


def parse_outcome(status: int, text: str) -> Outcome:
    """Parse the error code of a response."""
    try:
        code = json.loads(text)["error"]["code"]
    except (ValueError, KeyError, TypeError):
        code = ""
    return Outcome(status, code, text)


def attack(model: str, attempts: Iterable[Attempt], schema_seconds: int = 0, *, proxy: bool = True) -> dict[str, Any]:
    """Make every attempt; after each, a valid request must get the same response as before the first.

    Afterwards, schemathesis generates requests for `schema_seconds`.
    """
    program = Path(sys.executable).parent / "schemathesis"
    if schema_seconds and not program.is_file():
        raise SettingsError("schemathesis is not installed. Run pip install schemathesis, or omit --schema-seconds.")
    key = secrets.token_urlsafe(24)
    rows = []
    options = (*LIMITS, "--proxy" if proxy else "--no-proxy")
    with run_service(model, *options, environment={"FORMNET_API_KEYS": key}) as service:
        attacker = Attacker(service.port, key)
        reference = extracted_documents(attacker.json(json.dumps(EXAMPLE_DOCUMENT).encode()))
        for attempt in attempts:
            start = perf_counter()
            outcome = attempt.send(attacker)
            seconds = perf_counter() - start
            after = extracted_documents(attacker.json(json.dumps(EXAMPLE_DOCUMENT).encode()))
            leaks = [text for text in ("Traceback", "/tmp/", attempt.forbidden) if text and text in outcome.text]  # noqa: S108
            held = outcome.status in attempt.accepted and not leaks and after == reference
            rows.append(
                {
                    "kind": attempt.kind,
                    "attempt": attempt.name,
                    "status": outcome.status,
                    "code": outcome.code,
                    "seconds": round(seconds, 3),
                    "held": held,
                }
            )
        schema = run_schemathesis(program, service.url, key, schema_seconds) if schema_seconds else None
    held = sum(row["held"] for row in rows)
    return {"attempts": len(rows), "held": held, "options": list(options), "rows": rows, "schemathesis": schema}


#: Checks of schemathesis; acceptance of every schema-conforming document is not among them.
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
    "unsupported_method",
)


def run_schemathesis(program: Path, url: str, key: str, seconds: int) -> dict[str, Any]:
    """Run schemathesis on the OpenAPI document and return its conclusion."""
    options = ["--checks", ",".join(CHECKS), "--max-time", f"{seconds}", "--request-timeout", f"{CLIENT_TIMEOUT}"]
    options += ["--header", f"X-API-Key:{key}", "--continue-on-failure", "--no-color"]
    process = subprocess.run([str(program), "run", f"{url}/openapi.json", *options], capture_output=True, text=True)  # noqa: S603
    lines = [line.strip() for line in process.stdout.splitlines() if line.strip()]
    return {"seconds": seconds, "checks": list(CHECKS), "passed": process.returncode == 0, "conclusion": lines[-12:]}


def extracted_documents(outcome: Outcome) -> Any:
    """Return the documents of a successful response, without the request ID."""
    assert outcome.status == 200, outcome
    return json.loads(outcome.text)["documents"]
