"""Comparison of pre-training settings by masked language modeling on held-out pages."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from formnet.errors import SettingsError
from formnet.training.config import PreTraining, load_settings
from formnet.training.experiments.trial import for_variant, mean_and_std
from formnet.training.pretrain import pretrain

#: What variants are scored on.
HELD_OUT_PAGES = "held-out pages"


def compare_pretraining(
    config: Path, variants: Mapping[str, Sequence[str]], seeds: Sequence[int], common: Sequence[str] = ()
) -> dict[str, Any]:
    """Pre-train every variant with every seed; `common` overrides apply to all variants."""
    rows = []
    for name, overrides in variants.items():
        run = load_settings(PreTraining, config, [*common, *overrides])
        if not run.held_out_pages:
            raise SettingsError(f"{config}: a comparison needs held-out pages. Set held_out_pages.")
        curves = [pretrain(for_variant(run, name, seed)) for seed in seeds]
        rows.append({"variant": name, "overrides": list(overrides), **summarize(curves)})
    return {"seeds": list(seeds), "judged_on": HELD_OUT_PAGES, "rows": rows}


def summarize(curves: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the final scores over seeds, what the graph contributes to them, and the curve of each seed."""
    last = [curve["held_out"][-1] for curve in curves]
    use = [curve["graph_use"] for curve in curves if "graph_use" in curve]
    return {
        **{name: mean_and_std([scores[name] for scores in last]) for name in last[0] if name != "step"},
        "graph_use": {name: mean_and_std([part[name]["accuracy"] for part in use]) for name in (use[0] if use else ())},
        "curves": [curve["held_out"] for curve in curves],
    }
