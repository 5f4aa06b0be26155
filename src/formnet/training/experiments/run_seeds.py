"""One configuration trained with several seeds: the results reported for a corpus."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from formnet.document.reading_order import Order
from formnet.evaluation.entities import MISS_KINDS
from formnet.training.config import FineTuning
from formnet.training.ensemble import Ensemble
from formnet.training.experiments.trial import (
    for_seed,
    held_out_f1,
    mean_and_std,
    parameter_count,
    run_trial,
    score_documents,
    score_trial,
)


def run_seeds(run: FineTuning, test: str, seeds: Sequence[int], orders: Sequence[Order] = ("given",)) -> dict[str, Any]:
    """Train with every seed and score on the test documents: each model, and all of them as an ensemble."""
    runs = [for_seed(run, seed) for seed in seeds]
    scores = [score_trial(trial, test, orders) for trial in runs]
    first = orders[0]
    kind = "fields" if "fields" in scores[0][first] else "entities"
    types = sorted({label for score in scores for label in score[first][kind]["per_type"]})

    def values(part: str, metric: str, order: Order = first) -> list[float]:
        return [score[order][part][metric] for score in scores]

    held_out = [held_out_f1(trial) for trial in runs]
    unseen = scores[0][first]["not_in_training"]["documents"]
    ensemble = (
        score_documents(Ensemble([run_trial(trial) for trial in runs]), run, test, [first]) if len(runs) > 1 else {}
    )
    exact = {}
    if kind == "fields":
        exact = {"exact_string": mean_and_std([score[first][kind]["exact_string"]["f1"] for score in scores])}
    return {
        "test": test,
        "seeds": list(seeds),
        "parameters": parameter_count(runs[0]),
        "scored": kind,
        "f1": mean_and_std(values(kind, "f1")),
        "precision": mean_and_std(values(kind, "precision")),
        "recall": mean_and_std(values(kind, "recall")),
        "per_type": {
            label: mean_and_std([score[first][kind]["per_type"].get(label, {"f1": 0.0})["f1"] for score in scores])
            for label in types
        },
        "not_in_training": {
            "documents": unseen,
            "f1": mean_and_std([score[first]["not_in_training"][kind]["f1"] for score in scores]) if unseen else None,
        },
        "documents": scores[0][first]["documents"],
        "held_out": {head: mean_and_std([f1[head] for f1 in held_out]) for head in held_out[0]},
        "lost": {
            miss: float(np.mean([score[first]["entities"]["lost"][miss] for score in scores])) for miss in MISS_KINDS
        },
        "spans": mean_and_std(values("entities", "f1")),
        "by_order": {order: mean_and_std(values(kind, "f1", order)) for order in orders},
        "words_by_order": {order: mean_and_std(values("words", "f1", order)) for order in orders},
        **({"ensemble": ensemble[first][kind]["f1"]} if ensemble else {}),
        **exact,
        "interval_per_seed": [score[first][kind]["interval"] for score in scores],
        "ece": mean_and_std([score[first]["calibration"]["ece"] for score in scores]),
    }
