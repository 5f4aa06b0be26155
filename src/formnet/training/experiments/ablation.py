"""The paper's ablation: with and without Rich Attention and super-tokens, trained and evaluated per reading order."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

from formnet.document.reading_order import Order
from formnet.training.config import FineTuning, InitConfig
from formnet.training.experiments.trial import for_seed, mean_and_std, score_trial, variant_folder

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
    pretrained: Path | None = None,
) -> dict[str, Any]:
    """Train every variant in every order with every seed; score each in all orders.

    With the output folder of a comparison in pre-training, each variant starts from its own pre-trained weights, of the
    first seed there.
    """
    rows = []
    for order, name in product(trained_in, variants):
        variant = run.model_copy(update={"order": order, "init": _init(run, name, pretrained)})
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


def _init(run: FineTuning, variant: str, pretrained: Path | None) -> InitConfig:
    """Return the initial weights of a variant: pre-trained ones, or those of the run with another configuration."""
    if pretrained is not None:
        folder = pretrained / variant_folder(variant)
        return InitConfig(checkpoint=min(folder.glob("seed-*"), default=folder / "seed-0"))
    return run.init.model_copy(update={"overrides": {**run.init.overrides, **VARIANTS[variant]}})
