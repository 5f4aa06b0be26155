"""One training run and its scores; a finished run is loaded instead of trained again."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from formnet.datasets import open_corpus
from formnet.datasets.alignment import with_entities
from formnet.datasets.near_duplicates import near_duplicates
from formnet.document.reading_order import Order
from formnet.errors import SettingsError
from formnet.evaluation.evaluate import compute_metrics_without, headline_f1, predict_and_compare
from formnet.extraction.extractor import Extractor
from formnet.training.config import FineTuning, RunType
from formnet.training.data import load_training_data, with_segment_boxes
from formnet.training.finetune import finetune
from formnet.training.run_directory import DONE, HELD_OUT, claim_run_directory, finetuning_origin
from formnet.training.trainer import process_count


def run_trial(run: FineTuning) -> Extractor:
    """Train, or load the model of a finished run with the same settings."""
    if process_count() > 1:
        raise SettingsError("experiments run in one process. Under torchrun, call formnet train with each seed.")
    if (run.output / DONE).is_file():
        claim_run_directory(run, resume=True, origin=finetuning_origin(run.init, load_training_data(run)))
        options = {"max_batch_tokens": run.optimization.max_batch_tokens, "bf16": run.optimization.bf16}
        return Extractor.from_pretrained(run.output, **options)
    return finetune(run)


def parameter_count(run: FineTuning) -> int:
    """Return the number of parameters of a finished run's model."""
    count: int = json.loads((run.output / DONE).read_text(encoding="utf-8"))["parameters"]
    return count


def held_out_f1(run: FineTuning) -> dict[str, float]:
    """Return a finished run's F1 on held-out documents, by head."""
    return {head: headline_f1(metrics) for head, metrics in held_out_metrics(run).items()}


def held_out_metrics(run: FineTuning) -> dict[str, dict[str, Any]]:
    """Return a finished run's metrics on held-out documents, by head."""
    file = run.output / HELD_OUT
    heads = json.loads(file.read_text(encoding="utf-8"))["heads"] if file.is_file() else {}
    return {head: metrics for head, metrics in heads.items() if metrics["documents"]}


def score_trial(run: FineTuning, test: str, orders: Sequence[Order] = ("given",)) -> dict[str, Any]:
    """Train, and compute metrics on the test documents in each reading order."""
    return score_documents(run_trial(run), run, test, orders)


def score_documents(
    extractor: Extractor, run: FineTuning, test: str, orders: Sequence[Order] = ("given",)
) -> dict[str, Any]:
    """Compute metrics of a model that was trained with these settings on the test documents in each reading order."""
    training = [document for spec in run.corpus for document in open_corpus(spec)]
    duplicates = near_duplicates(open_corpus(test), training)
    scores: dict[str, Any] = {}
    for order in orders:
        corpus = open_corpus(test, order, canonical=run.labels == "canonical")
        documents = with_entities(corpus, "all" if run.label_all_occurrences else "best")
        if run.segment_boxes:
            documents = [with_segment_boxes(document) for document in documents]
        # Some corpora share near-duplicates between training and test, so the score without them is reported as well.
        scores[order] = compute_metrics_without(predict_and_compare(extractor, documents), duplicates)
    return scores


def mean_and_std(values: Sequence[float]) -> dict[str, Any]:
    """Return the mean, the sample standard deviation and the values."""
    std = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "std": std, "per_seed": list(values)}


def for_variant(run: RunType, name: str, seed: int) -> RunType:
    """Return the run with a seed, and an output folder named after the variant."""
    return for_seed(run, seed, f"{variant_folder(name)}/")


def variant_folder(name: str) -> str:
    """Return the name of a variant's folder."""
    return "".join(c if c.isalnum() else "-" for c in name)


def for_seed(run: RunType, seed: int, name: str = "") -> RunType:
    """Return the run with another seed and its own output folder."""
    return run.model_copy(update={"seed": seed, "output": Path(run.output) / f"{name}seed-{seed}"})
