"""What a network is worth in another engine: scores, F1 and speed as ONNX, whole and in eight bits, beside torch."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from formnet.document import Document
from formnet.evaluation.evaluate import judge, report
from formnet.extraction.extractor import Extractor, Scores
from formnet.modeling.onnx import GRAPH, OnnxNetwork, export_onnx, quantize


def benchmark(model: str, documents: Sequence[Document], repeats: int = 3) -> dict[str, Any]:
    """Export, and score the same labeled documents with each engine in turn."""
    torch_extractor = Extractor.from_pretrained(model)
    assert not isinstance(torch_extractor.model, OnnxNetwork)
    with TemporaryDirectory(prefix="formnet-") as folder:
        whole, small = Path(folder) / "whole", Path(folder) / "int8"
        export_onnx(torch_extractor.model, whole)
        small.mkdir()
        (small / "config.json").write_bytes((whole / "config.json").read_bytes())
        quantize(whole / GRAPH, small / GRAPH)
        tokenizer = torch_extractor.encoder.tokenizer
        engines = {
            "torch": torch_extractor,
            "onnx": Extractor(OnnxNetwork(whole), tokenizer),
            "onnx int8": Extractor(OnnxNetwork(small), tokenizer),
        }
        sizes = {"onnx": (whole / GRAPH).stat().st_size, "onnx int8": (small / GRAPH).stat().st_size}
        scores: dict[str, list[Scores]] = {}
        speeds: dict[str, list[float]] = {name: [] for name in engines}
        for _ in range(repeats):
            for name, extractor in engines.items():
                start = perf_counter()
                scores[name] = extractor.scores(documents)
                speeds[name].append(len(documents) / (perf_counter() - start))
        rows = []
        for name, extractor in engines.items():
            figures = report(*judge(extractor, documents))
            kind = "fields" if "fields" in figures else "entities"
            apart = [float(np.abs(a - b).max()) for a, b in zip(scores["torch"], scores[name], strict=True)]
            rows.append(
                {
                    "engine": name,
                    "f1": figures[kind]["f1"],
                    "scored": kind,
                    "largest_difference_of_scores": max(apart),
                    "documents_per_second": float(np.median(speeds[name])),
                    "megabytes": sizes[name] / 2**20 if name in sizes else None,
                }
            )
    return {"documents": len(documents), "rows": rows}
