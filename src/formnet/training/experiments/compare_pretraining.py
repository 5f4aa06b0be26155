"""Comparison of pre-training settings by masked language modeling on held-out pages."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from formnet.errors import SettingsError
from formnet.training.config import PreTraining, load_settings
from formnet.training.experiments.rows import Record, merge_rows, read_rows
from formnet.training.experiments.trial import for_variant, mean_and_std
from formnet.training.pretrain import pretrain
from formnet.training.run_directory import changed_settings

#: What variants are scored on.
HELD_OUT_PAGES = "held-out pages"
#: What is kept of earlier measurements whose seeds remain.
_PROVENANCE = ("command", "commit", "packages", "machine")


def compare_pretraining(
    config: Path, variants: Mapping[str, Sequence[str]], seeds: Sequence[int], common: Sequence[str] = ()
) -> Record:
    """Pre-train every variant with every seed; `common` overrides apply to all variants."""
    rows = []
    for name, overrides in variants.items():
        run = load_settings(PreTraining, config, [*common, *overrides])
        if not run.held_out_pages:
            raise SettingsError(f"{config}: a comparison needs held-out pages. Set held_out_pages.")
        curves = [
            {"seed": seed, "bf16": run.optimization.bf16, **pretrain(for_variant(run, name, seed))} for seed in seeds
        ]
        rows.append({"variant": name, "overrides": list(overrides), **summarize(curves)})
    return {"judged_on": HELD_OUT_PAGES, "rows": rows}


def summarize(curves: Iterable[Mapping[str, Any]]) -> Record:
    """Return the final scores over seeds, the scores with the graph edited, and the curve of each seed."""
    curves = sorted(curves, key=lambda curve: curve["seed"])
    last = [curve["held_out"][-1] for curve in curves]
    use = [curve["graph_use"] for curve in curves if "graph_use" in curve]
    return {
        "seeds": [curve["seed"] for curve in curves],
        "bf16": [curve["bf16"] for curve in curves],
        **{name: mean_and_std([scores[name] for scores in last]) for name in last[0] if name != "step"},
        "graph_use": {name: mean_and_std([part[name]["accuracy"] for part in use]) for name in (use[0] if use else ())},
        "curves": [curve["held_out"] for curve in curves],
    }


def read_earlier(out: Path | None, run: PreTraining, seeds: Sequence[int]) -> Record | None:
    """Read earlier results, and raise if they are of other settings.

    Seeds may differ in precision, which depends on the hardware, but the variants of a seed may not.
    """
    earlier = read_rows(out)
    if earlier is None:
        return None
    for row in earlier["rows"]:  # files written before rows had seeds of their own
        row.setdefault("seeds", earlier.get("seeds"))
        row.setdefault("bf16", [earlier["config"]["optimization"]["bf16"]] * len(row["seeds"]))
    bf16 = run.optimization.bf16
    old = {**earlier["config"], "optimization": {**earlier["config"]["optimization"], "bf16": bf16}}
    changed = [name for name in changed_settings(old, run) if name != "seed"]
    pairs = {pair for row in earlier["rows"] for pair in zip(row["seeds"], row["bf16"], strict=True)}
    if any((seed, not bf16) in pairs for seed in seeds):
        changed.append("precision")
    if changed:
        raise SettingsError(f"{out}: contains results with different {', '.join(changed)}. Use another file.")
    return earlier


def merge_seeds(new: Record, earlier: Record | None) -> Record:
    """Add new variants, and new seeds of variants, to earlier results."""
    if earlier is None:
        return new
    old_rows = {row["variant"]: row for row in earlier["rows"]}
    rows = []
    for row in new["rows"]:
        curves = {curve["seed"]: curve for part in (old_rows.get(row["variant"]), row) for curve in _curves(part)}
        rows.append({"variant": row["variant"], "overrides": row["overrides"], **summarize(curves.values())})
    provenance = {key: earlier[key] for key in _PROVENANCE if key in earlier}
    added = {"earlier": [*earlier.get("earlier", []), provenance]}
    return merge_rows({**new, "rows": rows, **added}, earlier, lambda row: row["variant"])


def _curves(row: Record | None) -> list[Record]:
    """Return the curves that a row summarizes."""
    if row is None:
        return []
    use = [
        {name: {"accuracy": accuracy} for name, accuracy in zip(row["graph_use"], values, strict=True)}
        for values in zip(*(part["per_seed"] for part in row["graph_use"].values()), strict=True)
    ]
    return [
        {"seed": seed, "bf16": bf16, "held_out": held_out, **({"graph_use": use[number]} if use else {})}
        for number, (seed, bf16, held_out) in enumerate(zip(row["seeds"], row["bf16"], row["curves"], strict=True))
    ]
