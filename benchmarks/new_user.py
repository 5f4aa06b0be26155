"""A new user's first minutes: install into a clean environment, then extract without a network connection."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any
from zipfile import ZipFile

#: Runs a command without a network connection; needs root, or user namespaces.
_OFFLINE = ["unshare", "--net", "--map-root-user"]


def benchmark(wheel: Path, torch: str, receipt: Path, invoice: Path) -> dict[str, Any]:
    """Install a wheel with its extras, and time the path from a photo to a spreadsheet and from a PDF to JSON."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        python, formnet = folder / "venv/bin/python", folder / "venv/bin/formnet"
        steps: dict[str, float] = {}

        def run(step: str, *command: str | Path) -> str:
            started = perf_counter()
            output = _run(command)
            steps[step] = round(perf_counter() - started, 1)
            return output

        _run([sys.executable, "-m", "venv", folder / "venv"])
        run("install torch", python, "-m", "pip", "install", "--quiet", torch)
        run("install FormNet", python, "-m", "pip", "install", "--quiet", f"{wheel.resolve()}[ocr,watch,xlsx]")
        table = folder / "receipt.xlsx"
        run("photo of a receipt to a spreadsheet", *_OFFLINE, formnet, "extract", receipt, "--out", table)
        output = run("invoice PDF to JSON", *_OFFLINE, formnet, "extract", invoice, "--values")
        (document,) = json.loads(output)
        with ZipFile(table) as archive:
            sheets = [file for file in archive.namelist() if file.startswith("xl/worksheets/")]
        return {
            "python": _run([python, "--version"]).split()[1],
            "seconds": steps,
            "sheets": len(sheets),
            "invoice": {"type": document["type"], "fields": sorted(document.keys() - {"document", "type", "currency"})},
        }


def _run(command: Sequence[str | Path]) -> str:
    """Run a command, and return what it prints; raise with its messages if it fails."""
    process = subprocess.run([str(part) for part in command], capture_output=True, text=True)  # noqa: S603
    if process.returncode:
        raise RuntimeError(f"{command}: status {process.returncode}: {process.stderr}")
    return process.stdout
