"""Cost of OCR per page: RapidOCR with OpenVINO and with onnxruntime, and Tesseract, on the same pages in one run."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any

from PIL import Image

from benchmarks.serving import run_service
from formnet.io.ocr import RAPIDOCR_RUNTIMES, OcrEngine, OcrResult, find_engine, is_installed


def benchmark(images: Sequence[Path], cold_starts: int = 2, requests: int = 5) -> dict[str, Any]:
    """Read every page with each engine in turn; the first page is read twice and its first reading not counted.

    Pages are read with one thread, as by bulk processing. The time of a single photo is measured with all cores: from a
    cold process, and through a service that is warm.
    """
    names = [f"rapidocr:{runtime}" for runtime in RAPIDOCR_RUNTIMES]
    engines = {name: find_engine(name) for name in [*names, *filter(is_installed, ["tesseract"])]}
    core_seconds: dict[str, list[float]] = {name: [] for name in engines}
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    same_text = 0
    with _one_thread():
        for engine in engines.values():
            _read(engine, images[0])
        for path in images:
            results = {}
            for name, engine in engines.items():
                start, core_start = perf_counter(), _core_seconds()
                results[name] = _read(engine, path)
                seconds[name].append(perf_counter() - start)
                core_seconds[name].append(_core_seconds() - core_start)
            same_text += len({tuple(results[name].texts) for name in names}) == 1
    rows = [
        {
            "engine": name,
            "core_seconds_per_page": mean(core_seconds[name]),
            "seconds_per_page": mean(seconds[name]),
            "cold_seconds": min((_cold_seconds(name, images[0]) for _ in range(cold_starts)), default=None),
            "service_seconds": median(_service_seconds(name, images[0], requests)) if requests else None,
        }
        for name in engines
    ]
    fast, plain = (sum(core_seconds[f"rapidocr:{name}"]) for name in ("openvino", "onnxruntime"))
    return {"pages": len(images), "same_text": same_text, "ratio_to_onnxruntime": fast / plain, "rows": rows}


def _cold_seconds(engine: str, path: Path) -> float:
    """Return the seconds from the start of `formnet extract` to its output, for one page."""
    command = [sys.executable, "-m", "formnet.cli", "extract", str(path), "--format", "json", "--ocr", engine]
    start = perf_counter()
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return perf_counter() - start


def _service_seconds(engine: str, path: Path, requests: int) -> list[float]:
    """Return the seconds of requests with one photo, after a first one that is not counted."""
    from formnet.scale.client import Client

    seconds = []
    with run_service("receipts", "--ocr", engine) as service:
        client = Client(service.url)
        for _ in range(requests + 1):
            start = perf_counter()
            client.extract(path)
            seconds.append(perf_counter() - start)
    return seconds[1:]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Limit engines that are created in this context, and child processes, to one thread."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = "1"
    try:
        yield
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


def _core_seconds() -> float:
    """Return the CPU time of this process and its finished child processes, such as Tesseract."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _read(engine: OcrEngine, path: Path) -> OcrResult:
    with Image.open(path) as image:
        return engine.read(image.convert("RGB"))
