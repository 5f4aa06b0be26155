"""How the score grows with the number of labeled documents."""

from collections.abc import Sequence
from typing import Any

from formnet.training.config import FineTuning
from formnet.training.data import load_labeled
from formnet.training.experiments.trial import headline, of_seed, score_trial, spread


def learning_curve(run: FineTuning, test: str, sizes: Sequence[int], seeds: Sequence[int]) -> dict[str, Any]:
    """Train on so many documents, and on all; fewer are gone through more often, up to ten times, for as many steps."""
    everything = max(len(part.training) for part in load_labeled(run).values())
    points = []
    for size in [*(s for s in sizes if s < everything), everything]:
        epochs = min(round(run.epochs * everything / size), 10 * run.epochs)
        asked = run.documents if size == everything else size
        smaller = run.model_copy(update={"documents": asked, "epochs": epochs, "look_every": epochs})
        scored = [score_trial(of_seed(smaller, seed, f"{size}-documents/"), test)["given"] for seed in seeds]
        points.append({"documents": size, "epochs": epochs, "f1": spread([headline(one) for one in scored])})
    return {"test": test, "seeds": list(seeds), "points": points}
