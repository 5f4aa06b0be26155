"""F1 as a function of the number of training documents."""

from collections.abc import Sequence
from typing import Any

from formnet.evaluation.evaluate import headline_f1
from formnet.training.config import FineTuning
from formnet.training.data import load_training_data
from formnet.training.experiments.trial import for_seed, mean_and_std, score_trial

#: Maximum factor of the number of epochs for small training sets.
MAX_EPOCH_FACTOR = 10


def learning_curve(run: FineTuning, test: str, sizes: Sequence[int], seeds: Sequence[int]) -> dict[str, Any]:
    """Train on subsets of the given sizes and on all documents; return one row, with the name of the initial weights.

    Smaller subsets get more epochs, for about the same number of steps.
    """
    total = max(len(head.training) for head in load_training_data(run).values())
    points = []
    for size in [*(s for s in sizes if s < total), total]:
        epochs = min(round(run.epochs * total / size), MAX_EPOCH_FACTOR * run.epochs)
        documents = run.documents if size == total else size
        subset_run = run.model_copy(update={"documents": documents, "epochs": epochs, "eval_every": epochs})
        scores = [score_trial(for_seed(subset_run, seed, f"{size}-documents/"), test)["given"] for seed in seeds]
        points.append({"documents": size, "epochs": epochs, "f1": mean_and_std([headline_f1(s) for s in scores])})
    start = str(run.init.checkpoint or run.init.encoder or "random weights")
    return {"rows": [{"test": test, "init": start, "seeds": list(seeds), "points": points}]}
