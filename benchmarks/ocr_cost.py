"""Cost of OCR per page: RapidOCR with OpenVINO compared with onnxruntime, on the same pages in one run."""

from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from time import perf_counter, process_time
from typing import Any

from PIL import Image

from formnet.io.ocr import RAPIDOCR_RUNTIMES, OcrEngine, OcrResult, find_engine


def benchmark(images: Sequence[Path]) -> dict[str, Any]:
    """Read every page with each library in turn; the first page is read twice and its first reading not counted."""
    engines = {name: find_engine(f"rapidocr:{name}") for name in RAPIDOCR_RUNTIMES}
    for engine in engines.values():
        _read(engine, images[0])
    core_seconds: dict[str, list[float]] = {name: [] for name in engines}
    seconds: dict[str, list[float]] = {name: [] for name in engines}
    same_text = 0
    for path in images:
        results = {}
        for name, engine in engines.items():
            start, core_start = perf_counter(), process_time()
            results[name] = _read(engine, path)
            seconds[name].append(perf_counter() - start)
            core_seconds[name].append(process_time() - core_start)
        same_text += len({tuple(result.texts) for result in results.values()}) == 1
    rows = [
        {"runtime": name, "core_seconds_per_page": mean(core_seconds[name]), "seconds_per_page": mean(seconds[name])}
        for name in engines
    ]
    fast, plain = (sum(core_seconds[name]) for name in ("openvino", "onnxruntime"))
    return {"pages": len(images), "same_text": same_text, "ratio_to_onnxruntime": fast / plain, "rows": rows}


def _read(engine: OcrEngine, path: Path) -> OcrResult:
    with Image.open(path) as image:
        return engine.read(image.convert("RGB"))
