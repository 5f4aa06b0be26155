"""What a bulk run costs over the bare extractor: Ray, JSON and Parquet beside the same documents on the same cores."""

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
from formnet.extraction.runtime import own_cores
from formnet.io.writers import write

#: Synthetic documents to see how the driver's memory grows.
GROWTH = (1_000, 10_000, 100_000)


def benchmark(
    model: str, documents: Sequence[Document], count: int, repeats: int = 3, shard: int = 64
) -> dict[str, Any]:
    """Extract in this process, and in a bulk run, in turn; each document as often as it takes to have so many."""
    chosen = [replace(document, id=f"{i}") for i, document in enumerate(islice(cycle(documents), count))]
    extractor = Extractor.from_pretrained(model)
    extractor.entities(chosen[:64])  # whatever is compiled or cached is by now
    bare, runs = [], []
    with TemporaryDirectory(prefix="formnet-") as folder:
        source = Path(folder) / "documents.jsonl"
        write(chosen, source)
        for number in range(repeats):
            start = perf_counter()
            extractor.entities(chosen)
            bare.append(len(chosen) / (perf_counter() - start))
            runs.append(_bulk(source, Path(folder) / f"out-{number}", model, shard))
        few = Path(folder) / "few.jsonl"
        write(chosen[: len(chosen) // 4 or 1], few)
        alone = _on_one_core(few, Path(folder) / "out-alone", model, shard)
    speeds = [run["documents_per_second"] for run in runs]
    ratios = np.divide(speeds, bare)
    return {
        "ratio_to_extractor": float(np.median(ratios)),
        "ratio_spread": [float(ratios.min()), float(ratios.max())],
        "documents": len(chosen),
        "pages": sum(len(document.pages) for document in chosen),
        "words": sum(document.num_words for document in chosen),
        "cores": own_cores(),
        "shard": shard,
        "documents_per_second": float(np.median(speeds)),
        "documents_per_second_on_one_core": alone["documents_per_second"],
        "extractor_documents_per_second": float(np.median(bare)),
        "startup_seconds": float(np.median([run["startup_seconds"] for run in runs])),
        "errors": sum(run["errors"] for run in runs),
    }


def _on_one_core(source: Path, output: Path, model: str, shard: int) -> dict[str, Any]:
    """Run with one worker on one core, to see what the second brings."""
    if not hasattr(os, "sched_setaffinity"):
        raise SettingsError("this machine's processes cannot be held to a core; measure on Linux.")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        return _bulk(source, output, model, shard)
    finally:
        os.sched_setaffinity(0, before)


def growth(model: str, counts: Sequence[int] = GROWTH) -> list[dict[str, Any]]:
    """Run ever more tiny documents; the driver's memory should not notice."""
    rows = []
    with TemporaryDirectory(prefix="formnet-") as folder:
        for count in counts:
            source = Path(folder) / f"{count}.jsonl"
            write(_tiny(count), source)
            run = _bulk(source, Path(folder) / f"out-{count}", model, 256)
            names = ("documents", "shards", "driver_memory_half_way_mb", "driver_memory_mb")
            rows.append({name: run[name] for name in names})
    return rows


def _tiny(count: int) -> Iterator[Document]:
    for number in range(count):
        builder = DocumentBuilder(f"{number}")
        builder.add_page(["Total", f"{number}.00"], [[10, 10, 60, 20], [70, 10, 99, 20]], 100, 100)
        yield builder.build()


def _bulk(source: Path, output: Path, model: str, shard: int) -> dict[str, Any]:
    """Run the command as a user would, in a process whose memory is its own."""
    command = [sys.executable, "-m", "formnet.cli", "bulk", str(source), str(output), "--model", model, "--json"]
    command += ["--shard", str(shard)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603
    summary: dict[str, Any] = json.loads(told)
    return summary
