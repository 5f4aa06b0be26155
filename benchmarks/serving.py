"""The service in a child process, started as a user would."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from urllib.error import URLError
from urllib.request import urlopen

from formnet.errors import SettingsError
from formnet.extraction.runtime import available_cores

STARTUP_TIMEOUT = 600  # seconds; without cached kernels, compiling them takes minutes


@dataclass(frozen=True)
class RunningService:
    """A service that is ready for requests."""

    port: int
    process: int  # ID of the formnet process; the Ray processes are its descendants
    replicas: int

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.port}"

    def is_ready(self) -> bool:
        """Return whether the service reports that it is ready."""
        try:
            with urlopen(f"{self.url}/readyz", timeout=5) as response:  # noqa: S310 - a local address
                return bool(response.status == 200)
        except (URLError, OSError):
            return False


@contextmanager
def run_service(model: str, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[RunningService]:
    """Start `formnet serve` with one model replica per core, and yield it when it is ready."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    replicas = available_cores()
    arguments = ["serve", "--model", model, "--port", str(port), "--replicas", str(replicas), *options]
    command = [sys.executable, "-m", "formnet.cli", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})  # noqa: S603
    service = RunningService(port, process.pid, replicas)
    try:
        deadline = perf_counter() + STARTUP_TIMEOUT
        while not service.is_ready():
            if process.poll() is not None or perf_counter() > deadline:
                raise SettingsError(f"the service did not start. Run formnet serve --model {model} to see the error.")
            time.sleep(0.2)
        yield service
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
