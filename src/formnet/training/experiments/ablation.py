"""The paper's ablation: with and without Rich Attention and super-tokens, trained and evaluated per reading order."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from formnet.document.reading_order import Order
from formnet.training.config import FineTuning
from formnet.training.experiments.trial import for_seed, mean_and_std, score_trial

#: Rows of the paper's table, with their overrides of the model configuration.
VARIANTS = {
    "ETC": {"rich_attention": False, "super_tokens": False},
    "ETC + RichAtt": {"rich_attention": True, "super_tokens": False},
    "ETC + GCN": {"rich_attention": False, "super_tokens": True},
    "FormNet": {"rich_attention": True, "super_tokens": True},
}


def ablate(
    run: FineTuning,
    test: str,
    seeds: Sequence[int],
    trained_in: Sequence[Order],
    scored_in: Sequence[Order],
    variants: Sequence[str] = tuple(VARIANTS),
) -> dict[str, Any]:
    """Train every variant in every order with every seed; score each in all orders."""
    rows = []
    for order, name in product(trained_in, variants):
        variant = with_overrides(run, **VARIANTS[name]).model_copy(update={"order": order})
        folder = f"{name.lower().replace(' + ', '-')}-{order}/"
        scores = [score_trial(for_seed(variant, seed, folder), test, scored_in) for seed in seeds]
        rows.append(
            {
                "variant": name,
                "trained_in": order,
                "f1": {o: mean_and_std([score[o]["entities"]["f1"] for score in scores]) for o in scored_in},
                "word_f1": {o: mean_and_std([score[o]["words"]["f1"] for score in scores]) for o in scored_in},
            }
        )
    return {"test": test, "seeds": list(seeds), "rows": rows}


def with_overrides(run: FineTuning, **overrides: Any) -> FineTuning:
    """Return the run with overrides of the model configuration."""
    init = run.init.model_copy(update={"overrides": {**run.init.overrides, **overrides}})
    return run.model_copy(update={"init": init})
