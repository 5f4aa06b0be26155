"""Choices tried one by one, judged on the held-out part of training and never on test documents."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from formnet.errors import SettingsError
from formnet.experiments.trial import of_seed, run_trial, spread
from formnet.training.finetune import HELD_OUT
from formnet.training.settings import FineTuning, load_settings


def read_variants(file: Path) -> dict[str, list[str]]:
    """Read a YAML file of names, each with the settings that it overrides."""
    data = yaml.safe_load(file.read_text(encoding="utf-8"))
    if not isinstance(data, dict) or not all(isinstance(value, list) for value in data.values()):
        raise SettingsError(f"{file}: variants are names, each with a list of settings like epochs=10.")
    return {str(name): [str(item) for item in items] for name, items in data.items()}


def compare(config: Path, variants: Mapping[str, Sequence[str]], seeds: Sequence[int]) -> dict[str, Any]:
    """Train every variant with every seed and give its score on the documents held out."""
    rows = []
    for name, overrides in variants.items():
        run = load_settings(FineTuning, config, overrides)
        if not run.validation and not run.held_out:
            raise SettingsError(f"{config}: comparing needs held-out documents; set held_out or validation.")
        folder = "".join(c if c.isalnum() else "-" for c in name)
        trials = [of_seed(run, seed, f"{folder}/") for seed in seeds]
        for trial in trials:
            run_trial(trial)
        reports = [json.loads((trial.output / HELD_OUT).read_text(encoding="utf-8")) for trial in trials]
        rows.append(
            {
                "variant": name,
                "overrides": list(overrides),
                "f1": spread([float(np.mean([h["entities"]["f1"] for h in r["heads"].values()])) for r in reports]),
                "temperatures": [report["temperatures"] for report in reports],
                "parameters": reports[0]["parameters"],
            }
        )
    return {"seeds": list(seeds), "judged_on": "the held-out part of training", "rows": rows}
