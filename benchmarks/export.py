"""Scores, F1 and speed of the model as ONNX, in full precision and int8, compared with torch."""

import shutil
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from formnet.datasets import open_corpus_for
from formnet.datasets.alignment import with_entities
from formnet.evaluation.evaluate import compute_metrics, predict_and_compare
from formnet.extraction.extractor import Extractor, Scores
from formnet.modeling.onnx import ONNX_NAME, OnnxModel, export_onnx, quantize


def benchmark(model: str, corpus: str, count: int, repeats: int = 3) -> dict[str, Any]:
    """Export the model, and score the same labeled documents with each engine alternately."""
    torch_extractor = Extractor.from_pretrained(model)
    documents = with_entities(islice(open_corpus_for(torch_extractor.labels, corpus), count))
    assert not isinstance(torch_extractor.model, OnnxModel)
    with TemporaryDirectory(prefix="formnet-") as folder:
        full, int8 = Path(folder) / "full", Path(folder) / "int8"
        export_onnx(torch_extractor.model, full)
        shutil.copytree(full, int8, ignore=shutil.ignore_patterns(ONNX_NAME))
        quantize(full / ONNX_NAME, int8 / ONNX_NAME)
        tokenizer = torch_extractor.encoder.tokenizer
        schema = torch_extractor.own_schema
        engines = {
            "torch": torch_extractor,
            "onnx": Extractor(OnnxModel(full), tokenizer, schema=schema),
            "onnx int8": Extractor(OnnxModel(int8), tokenizer, schema=schema),
        }
        sizes = {"onnx": (full / ONNX_NAME).stat().st_size, "onnx int8": (int8 / ONNX_NAME).stat().st_size}
        scores: dict[str, list[Scores]] = {}
        speeds: dict[str, list[float]] = {name: [] for name in engines}
        for _ in range(repeats):
            for name, extractor in engines.items():
                start = perf_counter()
                scores[name] = extractor.scores(documents)
                speeds[name].append(len(documents) / (perf_counter() - start))
        rows = []
        for name, extractor in engines.items():
            metrics = compute_metrics(*predict_and_compare(extractor, documents))
            kind = "fields" if "fields" in metrics else "entities"
            differences = [float(np.abs(a - b).max()) for a, b in zip(scores["torch"], scores[name], strict=True)]
            rows.append(
                {
                    "engine": name,
                    "f1": metrics[kind]["f1"],
                    "scored": kind,
                    "largest_difference_of_scores": max(differences),
                    "documents_per_second": float(np.median(speeds[name])),
                    "megabytes": sizes[name] / 2**20 if name in sizes else None,
                }
            )
    return {"documents": len(documents), "rows": rows}
