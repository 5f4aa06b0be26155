"""The paper's ablation: with and without Rich Attention and super-tokens, trained and evaluated per reading order."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from formnet.document.reading_order import Order
from formnet.errors import SettingsError
from formnet.training.config import FineTuning
from formnet.training.experiments.trial import for_seed, mean_and_std, score_trial
from formnet.training.run_directory import changed_settings

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
    unknown = sorted({*variants} - {*VARIANTS})
    if unknown:
        raise SettingsError(f"there is no variant {', '.join(unknown)}. Use one of {', '.join(VARIANTS)}.")
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


def check_same_settings(old: dict[str, Any], test: str, seeds: Sequence[int], run: FineTuning) -> None:
    """Raise if existing results are of another test corpus, other seeds or other settings."""
    if (old.get("test"), old.get("seeds")) != (test, list(seeds)):
        raise SettingsError("--out: the file contains results of another test corpus or other seeds. Use another file.")
    changed = changed_settings(old.get("config", {}), run)
    if changed:
        raise SettingsError(
            f"--out: the file contains results with different settings ({', '.join(changed)}). Use another file."
        )


def merge_rows(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Replace the old rows that were measured again, and add the commit of the old results to the other ones."""
    new_rows = {(row["variant"], row["trained_in"]): row for row in new["rows"]}
    old_rows = [{"commit": old["commit"], **row} for row in old["rows"]]
    rows = [new_rows.pop((row["variant"], row["trained_in"]), row) for row in old_rows]
    return {**new, "rows": [*rows, *new_rows.values()]}


def with_overrides(run: FineTuning, **overrides: Any) -> FineTuning:
    """Return the run with overrides of the model configuration."""
    init = run.init.model_copy(update={"overrides": {**run.init.overrides, **overrides}})
    return run.model_copy(update={"init": init})
