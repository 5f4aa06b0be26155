"""A service that runs, and how tests ask it."""

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import psutil

KEY = "a key of our own"


@dataclass(frozen=True)
class Service:
    """A service that runs, and how to ask it."""

    port: int
    folder: Path
    process: subprocess.Popen[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, route: str, **parts: Any) -> httpx.Response:
        headers = {"X-API-Key": KEY, **parts.pop("headers", {})}
        return httpx.request(method, f"{self.url}{route}", headers=headers, timeout=60, **parts)

    def extract(self, *files: tuple[str, bytes], query: str = "") -> httpx.Response:
        return self.ask("POST", f"/v1/extract{query}", files=[("files", file) for file in files])

    def send(self, body: Any, **parts: Any) -> httpx.Response:
        return self.ask("POST", "/v1/extract", json=body, **parts)

    def logs(self) -> str:
        return "".join(file.read_text() for file in self.folder.glob("ray/session_2*/logs/serve/*.log"))

    def processes(self, title: str) -> list[psutil.Process]:
        """Those of this service only."""
        found = []
        for process in psutil.process_iter(["cmdline"]):
            if (process.info["cmdline"] or [""])[0].startswith(title):
                try:
                    found += [process] * (process.environ().get("RAY_TMPDIR") == str(self.folder))
                except psutil.Error:
                    continue
        return found
