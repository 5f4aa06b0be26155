"""The paper's 2×2, with and without Rich Attention and super-tokens, trained and scored in good and bad order."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from formnet.experiments.trial import of_seed, score_trial, spread
from formnet.reading_order import Order
from formnet.training.settings import FineTuning

#: The paper's rows: name → changes of the network.
VARIANTS = {
    "ETC": {"rich_attention": False, "super_tokens": False},
    "ETC + RichAtt": {"rich_attention": True, "super_tokens": False},
    "ETC + GCN": {"rich_attention": False, "super_tokens": True},
    "FormNet": {"rich_attention": True, "super_tokens": True},
}


def ablate(
    run: FineTuning, test: str, seeds: Sequence[int], trained_in: Sequence[Order], scored_in: Sequence[Order]
) -> dict[str, Any]:
    """Train every variant in every order with every seed; score each in all orders."""
    rows = []
    for order, (name, changes) in product(trained_in, VARIANTS.items()):
        variant = with_changes(run, **changes).model_copy(update={"order": order})
        folder = f"{name.lower().replace(' + ', '-')}-{order}/"
        scored = [score_trial(of_seed(variant, seed, folder), test, scored_in) for seed in seeds]
        rows.append(
            {
                "variant": name,
                "trained_in": order,
                "f1": {o: spread([one[o]["entities"]["f1"] for one in scored]) for o in scored_in},
                "word_f1": {o: spread([one[o]["words"]["f1"] for one in scored]) for o in scored_in},
            }
        )
    return {"test": test, "seeds": list(seeds), "rows": rows}


def with_changes(run: FineTuning, **changes: Any) -> FineTuning:
    """Give the run with changes of the network's configuration."""
    start = run.start.model_copy(update={"changes": {**run.start.changes, **changes}})
    return run.model_copy(update={"start": start})
