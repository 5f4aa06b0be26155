"""Choices tried one by one, judged on the held-out part of training and never on test documents."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from formnet.errors import SettingsError
from formnet.experiments.trial import of_seed, parameters_of, run_trial, score_trial, spread
from formnet.training.folder import HELD_OUT
from formnet.training.settings import FineTuning, load_settings


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
        reports = [_held_out(trial) if test is None else [score_trial(trial, test)["given"]] for trial in trials]
        rows.append(
            {
                "variant": name,
                "overrides": list(overrides),
                "f1": spread([float(np.mean([_figures(head)["f1"] for head in heads])) for heads in reports]),
                "parameters": parameters_of(trials[0]),
            }
        )
    judged_on = test or "the held-out part of training"
    return {"seeds": list(seeds), "judged_on": judged_on, "rows": rows}


def _held_out(trial: FineTuning) -> list[dict[str, Any]]:
    """Train, and give what was written of each head on documents held out."""
    run_trial(trial)
    heads = json.loads((trial.output / HELD_OUT).read_text(encoding="utf-8"))["heads"]
    return [report for report in heads.values() if report["documents"]]


def _figures(report: dict[str, Any]) -> dict[str, Any]:
    figures: dict[str, Any] = report["fields"] if "fields" in report else report["entities"]
    return figures
