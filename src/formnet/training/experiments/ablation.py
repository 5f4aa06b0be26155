"""The paper's 2×2, with and without Rich Attention and super-tokens, trained and scored in good and bad order."""

from collections.abc import Sequence
from itertools import product
from typing import Any

from formnet.document.reading_order import Order
from formnet.errors import SettingsError
from formnet.training.config import FineTuning
from formnet.training.experiments.trial import of_seed, score_trial, spread
from formnet.training.run_directory import differences

#: The paper's rows: name → changes of the network.
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
        raise SettingsError(f"there is no variant {', '.join(unknown)}; there are {', '.join(VARIANTS)}.")
    rows = []
    for order, name in product(trained_in, variants):
        variant = with_changes(run, **VARIANTS[name]).model_copy(update={"order": order})
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


def refuse_others(old: dict[str, Any], test: str, seeds: Sequence[int], run: FineTuning) -> None:
    """Refuse to put rows beside those of another test, other seeds or settings, before any is trained."""
    if (old.get("test"), old.get("seeds")) != (test, list(seeds)):
        raise SettingsError("the figures there are of another test or other seeds; write to another file.")
    other = differences(old.get("config", {}), run)
    if other:
        raise SettingsError(f"the figures there are of runs with another {', '.join(other)}; write to another file.")


def beside(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """Put new rows in the place of those that they measure again; a row that stays says which commit it is of."""
    again = {(row["variant"], row["trained_in"]): row for row in new["rows"]}
    kept = [{"commit": old["commit"], **row} for row in old["rows"]]
    rows = [again.pop((row["variant"], row["trained_in"]), row) for row in kept]
    return {**new, "rows": [*rows, *again.values()]}


def with_changes(run: FineTuning, **changes: Any) -> FineTuning:
    """Give the run with changes of the network's configuration."""
    start = run.start.model_copy(update={"changes": {**run.start.changes, **changes}})
    return run.model_copy(update={"start": start})
