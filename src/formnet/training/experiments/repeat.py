"""One configuration under several seeds: the figure that stands for a corpus."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from formnet.document.reading_order import Order
from formnet.evaluation.entities import LOSSES
from formnet.training.config import FineTuning
from formnet.training.experiments.trial import held_out_f1, of_seed, parameters_of, score_trial, spread


def repeat(run: FineTuning, test: str, seeds: Sequence[int], orders: Sequence[Order] = ("given",)) -> dict[str, Any]:
    """Train with every seed and score on the test documents."""
    scored = [score_trial(of_seed(run, seed), test, orders) for seed in seeds]
    first = orders[0]
    kind = "fields" if "fields" in scored[0][first] else "entities"
    types = sorted({label for one in scored for label in one[first][kind]["per_type"]})

    def values(part: str, figure: str, order: Order = first) -> list[float]:
        return [one[order][part][figure] for one in scored]

    held_out = [held_out_f1(of_seed(run, seed)) for seed in seeds]
    unseen = scored[0][first]["not_in_training"]["documents"]
    exact = {}
    if kind == "fields":
        exact = {"exact_string": spread([one[first][kind]["exact_string"]["f1"] for one in scored])}
    return {
        "test": test,
        "seeds": list(seeds),
        "parameters": parameters_of(of_seed(run, seeds[0])),
        "scored": kind,
        "f1": spread(values(kind, "f1")),
        "precision": spread(values(kind, "precision")),
        "recall": spread(values(kind, "recall")),
        "per_type": {
            label: spread([one[first][kind]["per_type"].get(label, {"f1": 0.0})["f1"] for one in scored])
            for label in types
        },
        "not_in_training": {
            "documents": unseen,
            "f1": spread([one[first]["not_in_training"][kind]["f1"] for one in scored]) if unseen else None,
        },
        "documents": scored[0][first]["documents"],
        "held_out": {head: spread([one[head] for one in held_out]) for head in held_out[0]},
        "lost": {kind: float(np.mean([one[first]["entities"]["lost"][kind] for one in scored])) for kind in LOSSES},
        "spans": spread(values("entities", "f1")),
        "by_order": {order: spread(values(kind, "f1", order)) for order in orders},
        "words_by_order": {order: spread(values("words", "f1", order)) for order in orders},
        **exact,
        "interval_per_seed": [one[first][kind]["interval"] for one in scored],
        "ece": spread([one[first]["calibration"]["ece"] for one in scored]),
    }
