"""Cost of OCR per page: RapidOCR with OpenVINO and with onnxruntime, and Tesseract, on the same pages in one run."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from time import perf_counter
from typing import Any

from PIL import Image

from formnet.io.ocr import RAPIDOCR_RUNTIMES, OcrEngine, OcrResult, find_engine, is_installed


def benchmark(images: Sequence[Path], cold_starts: int = 2) -> dict[str, Any]:
    """Read every page with each engine in turn; the first page is read twice and its first reading not counted."""
    names = [f"rapidocr:{runtime}" for runtime in RAPIDOCR_RUNTIMES]
    engines = {name: find_engine(name) for name in [*names, *filter(is_installed, ["tesseract"])]}
    for engine in engines.values():
        _read(engine, images[0])
    core_seconds: dict[str, list[float]] = {name: [] for name in engines}
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    same_text = 0
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


def _core_seconds() -> float:
    """Return the CPU time of this process and its finished child processes, such as Tesseract."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _read(engine: OcrEngine, path: Path) -> OcrResult:
    with Image.open(path) as image:
        return engine.read(image.convert("RGB"))
