"""The service as a user runs it, for as long as something is measured on it."""

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
from formnet.extraction.runtime import own_cores

#: How long the service may take to be ready.
STARTUP_SECONDS = 180


@dataclass(frozen=True)
class Serving:
    """A service that answers."""

    port: int
    process: int  # of the command itself; Ray's are its descendants
    replicas: int

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self.port}"

    def is_ready(self) -> bool:
        """Whether documents can be read and scored just now."""
        try:
            with urlopen(f"{self.url}/readyz", timeout=5) as answer:  # noqa: S310 - it is ours
                return bool(answer.status == 200)
        except (URLError, OSError):
            return False


@contextmanager
def serving(model: str, *options: str, environment: Mapping[str, str] | None = None) -> Iterator[Serving]:
    """Run the command as a user would, a network a core; give it once it is ready."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    replicas = own_cores()
    words = ["serve", "--model", model, "--port", str(port), "--replicas", str(replicas), *options]
    command = [sys.executable, "-m", "formnet.cli", *words]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})})  # noqa: S603
    service = Serving(port, process.pid, replicas)
    try:
        deadline = perf_counter() + STARTUP_SECONDS
        while not service.is_ready():
            if process.poll() is not None or perf_counter() > deadline:
                raise SettingsError("the service did not start; formnet serve says why.")
            time.sleep(0.2)
        yield service
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
