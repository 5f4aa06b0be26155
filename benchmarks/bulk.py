"""Overhead of a bulk run over the bare extractor: Ray, JSON and Parquet, on the same documents and cores."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.runtime import available_cores
from formnet.io.writers import write

#: Numbers of synthetic documents for the memory of the driver.
GROWTH_COUNTS = (1_000, 10_000, 100_000)


def benchmark(
    model: str, documents: Sequence[Document], count: int, repeats: int = 3, shard: int = 64
) -> dict[str, Any]:
    """Measure throughput in this process and in a bulk run alternately, cycling through documents up to `count`."""
    chosen = [replace(document, id=f"{i}") for i, document in enumerate(islice(cycle(documents), count))]
    extractor = Extractor.from_pretrained(model)
    extractor.entities(chosen[:64])  # compiles and fills the caches
    extractor_speeds, runs = [], []
    with TemporaryDirectory(prefix="formnet-") as folder:
        source = Path(folder) / "documents.jsonl"
        write(chosen, source)
        for number in range(repeats):
            start = perf_counter()
            extractor.entities(chosen)
            extractor_speeds.append(len(chosen) / (perf_counter() - start))
            runs.append(_run_bulk(source, Path(folder) / f"out-{number}", model, shard))
        subset = Path(folder) / "subset.jsonl"
        write(chosen[: len(chosen) // 4 or 1], subset)
        on_one_core = _run_on_one_core(subset, Path(folder) / "out-one-core", model, shard)
    speeds = [run["documents_per_second"] for run in runs]
    ratios = np.divide(speeds, extractor_speeds)
    return {
        "ratio_to_extractor": float(np.median(ratios)),
        "ratio_spread": [float(ratios.min()), float(ratios.max())],
        "documents": len(chosen),
        "pages": sum(len(document.pages) for document in chosen),
        "words": sum(document.num_words for document in chosen),
        "cores": available_cores(),
        "shard": shard,
        "documents_per_second": float(np.median(speeds)),
        "documents_per_second_on_one_core": on_one_core["documents_per_second"],
        "extractor_documents_per_second": float(np.median(extractor_speeds)),
        "startup_seconds": float(np.median([run["startup_seconds"] for run in runs])),
        "errors": sum(run["errors"] for run in runs),
    }


def _run_on_one_core(source: Path, output: Path, model: str, shard: int) -> dict[str, Any]:
    """Run with one worker on one core, for comparison with several."""
    if not hasattr(os, "sched_setaffinity"):
        raise SettingsError("this platform cannot pin a process to a core. Run this benchmark on Linux.")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        return _run_bulk(source, output, model, shard)
    finally:
        os.sched_setaffinity(0, before)


def growth(model: str) -> list[dict[str, Any]]:
    """Measure the memory of the driver for increasing numbers of tiny documents."""
    rows = []
    with TemporaryDirectory(prefix="formnet-") as folder:
        for count in GROWTH_COUNTS:
            source = Path(folder) / f"{count}.jsonl"
            write(_tiny_documents(count), source)
            run = _run_bulk(source, Path(folder) / f"out-{count}", model, 256)
            names = ("documents", "shards", "driver_memory_half_way_mb", "driver_memory_mb")
            rows.append({name: run[name] for name in names})
    return rows


def _tiny_documents(count: int) -> Iterator[Document]:
    for number in range(count):
        builder = DocumentBuilder(f"{number}")
        builder.add_page(["Total", f"{number}.00"], [[10, 10, 60, 20], [70, 10, 99, 20]], 100, 100)
        yield builder.build()


def _run_bulk(source: Path, output: Path, model: str, shard: int) -> dict[str, Any]:
    """Run `formnet bulk` in a process of its own and return its summary."""
    command = [sys.executable, "-m", "formnet.cli", "bulk", str(source), str(output), "--model", model, "--json"]
    command += ["--shard", str(shard)]
    output_json = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603
    summary: dict[str, Any] = json.loads(output_json)
    return summary
