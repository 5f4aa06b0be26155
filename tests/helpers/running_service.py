"""A service in a child process, and requests to it."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import httpx
import psutil

KEY = "a key of our own"


@dataclass(frozen=True)
class Service:
    """A running service."""

    port: int
    folder: Path
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def request(self, method: str, route: str, **options: Any) -> httpx.Response:
        headers = {"X-API-Key": KEY, **options.pop("headers", {})}
        return httpx.request(method, f"{self.url}{route}", headers=headers, timeout=60, **options)

    def extract(self, *files: tuple[str, bytes], query: str = "") -> httpx.Response:
        return self.request("POST", f"/v1/extract{query}", files=[("files", file) for file in files])

    def send(self, body: Any, **options: Any) -> httpx.Response:
        return self.request("POST", "/v1/extract", json=body, **options)

    def logs(self) -> str:
        return "".join(file.read_text() for file in self.folder.glob("ray/session_2*/logs/serve/*.log"))

    def processes(self, title: str) -> list[psutil.Process]:
        """Return the processes of this service whose command line contains `title`."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            if title in " ".join(process.info["cmdline"] or []):
                try:
                    found += [process] * (process.environ().get("RAY_TMPDIR") == str(self.folder))
                except psutil.Error:
                    continue
        return found


@contextmanager
def run_service(keys: Path, *options: object) -> Iterator[Service]:
    """Start `formnet serve` with an API key in a file and another one in the environment; stop it with SIGTERM."""
    folder = Path(mkdtemp(prefix="fn", dir="/tmp"))  # short, because it contains Ray's sockets
    keys.write_text(f"# test keys\n{KEY}\n")
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    arguments = ["serve", "--port", port, "--api-key-file", keys, *options]
    process = subprocess.Popen(
        [sys.executable, "-m", "formnet.cli", *map(str, arguments)],
        env={**os.environ, "RAY_TMPDIR": str(folder), "FORMNET_API_KEYS": "another key"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout
    first = process.stdout.readline()
    assert "FormNet is listening on" in first, first + process.stdout.read()
    yield Service(port, folder, process)
    process.send_signal(signal.SIGTERM)
    rest = process.communicate(timeout=60)[0]
    assert process.returncode == 0, rest
    shutil.rmtree(folder, ignore_errors=True)
