"""`formnet extract` on a folder of hostile and good files: answers, errors, memory and time."""

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import psutil

from benchmarks.hostile_files import write_hostile_files, write_pdf

_GOOD = 10


def benchmark(image: Path, repeats: int = 3, scale: float = 1.0) -> dict[str, Any]:
    """Extract from hostile files and ten copies of an image, and measure good files with and without isolation."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        images, pdfs, mixed = (folder / part for part in ("images", "pdfs", "mixed"))
        for part in (images, pdfs, mixed):
            part.mkdir()
        for number in range(_GOOD):
            shutil.copy(image, images / f"good-{number}{image.suffix}")
            write_pdf(pdfs / f"good-{number}.pdf", ["Invoice 17", "Date 14/06/2024", f"Total {number}.50"])
        hostile = list(write_hostile_files(mixed, scale))
        for file in images.iterdir():
            shutil.copy(file, mixed)
        result = _run(mixed)
        good = [document for document in result["documents"] if Path(document["document"]).name.startswith("good")]
        return {
            "good_files": _GOOD,
            "good_answers": sum(bool(document["entities"]) for document in good),
            "hostile_files": [
                {"name": file.name, "bytes": file.stat().st_size, "message": _message(result["stderr"], file)}
                for file in hostile
            ],
            "exit_status": result["exit_status"],
            "seconds": result["seconds"],
            "peak_mib": result["peak_mib"],
            "isolation_cost": {
                "images": _compare(images, repeats),
                "PDFs": _compare(pdfs, repeats),
            },
        }


def _compare(folder: Path, repeats: int) -> dict[str, Any]:
    """Return the lowest times with and without isolation, alternating, and their ratio."""
    seconds: dict[str, list[float]] = {"isolated": [], "in process": []}
    for _ in range(repeats):
        seconds["isolated"].append(_run(folder)["seconds"])
        seconds["in process"].append(_run(folder, ["--no-isolation"])["seconds"])
    isolated, in_process = (min(times) for times in seconds.values())
    return {"seconds": seconds, "ratio": round(isolated / in_process, 3)}


def _run(folder: Path, options: Sequence[str] = ()) -> dict[str, Any]:
    """Run `formnet extract`; return its output, its time, and the peak memory of all its processes."""
    command = [sys.executable, "-m", "formnet.cli", "extract", str(folder), "--format", "jsonl", *options]
    start = perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # noqa: S603
    peak = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(0.05):
            peak = max(peak, _tree_memory(process.pid))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    stdout, stderr = process.communicate()
    done.set()
    watcher.join()
    return {
        "documents": [json.loads(line) for line in stdout.splitlines()],
        "stderr": stderr,
        "exit_status": process.returncode,
        "seconds": round(perf_counter() - start, 2),
        "peak_mib": round(peak / 2**20),
    }


def _tree_memory(pid: int) -> int:
    total = 0
    try:
        parent = psutil.Process(pid)
        for process in (parent, *parent.children(recursive=True)):
            total += process.memory_info().rss
    except psutil.Error:  # a process has ended
        pass
    return total


def _message(stderr: str, file: Path) -> str | None:
    """Return the message about a file, without its folder."""
    lines = [line for line in stderr.splitlines() if f"/{file.name}" in line]
    return lines[0].replace(f"{file.parent}/", "").removeprefix("formnet: ") if lines else None
