"""Choices tried one by one, judged on the held-out part of training and never on test documents."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from formnet.errors import SettingsError
from formnet.training.config import FineTuning, load_settings
from formnet.training.experiments.trial import (
    headline,
    held_out_f1,
    of_seed,
    parameters_of,
    run_trial,
    score_trial,
    spread,
)


def read_variants(file: Path) -> dict[str, list[str]]:
    """Read a YAML file of names, each with the settings that it overrides."""
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{file}: cannot be read as YAML: {error}.") from error
    if not isinstance(data, dict) or not all(isinstance(value, list) for value in data.values()):
        raise SettingsError(f"{file}: variants are names, each with a list of settings like epochs=10.")
    return {str(name): [str(item) for item in items] for name, items in data.items()}


def compare(
    config: Path,
    variants: Mapping[str, Sequence[str]],
    seeds: Sequence[int],
    test: str | None = None,
    common: Sequence[str] = (),
) -> dict[str, Any]:
    """Train every variant with every seed and give its score on the documents held out.

    What is overridden in `common` is so for all of them. Test documents, if given, are scored instead: for variants
    that stand beside each other in a figure, none of which is chosen by it.
    """
    rows = []
    for name, overrides in variants.items():
        run = load_settings(FineTuning, config, [*common, *overrides])
        if test is None and not run.validation and not run.held_out:
            raise SettingsError(f"{config}: comparing needs held-out documents; set held_out or validation.")
        folder = "".join(c if c.isalnum() else "-" for c in name)
        trials = [of_seed(run, seed, f"{folder}/") for seed in seeds]
        rows.append(
            {
                "variant": name,
                "overrides": list(overrides),
                "f1": spread([_score(trial, test) for trial in trials]),
                "parameters": parameters_of(trials[0]),
            }
        )
    judged_on = test or "the held-out part of training"
    return {"seeds": list(seeds), "judged_on": judged_on, "rows": rows}


def _score(trial: FineTuning, test: str | None) -> float:
    """Train, and give F1 on test documents, or on what was held out: over all heads, each counting alike."""
    if test is None:
        run_trial(trial)
        return float(np.mean([*held_out_f1(trial).values()]))
    return headline(score_trial(trial, test)["given"])
