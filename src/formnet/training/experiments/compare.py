"""Comparison of settings, scored on held-out training documents, or on test documents to report a table."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from formnet.errors import SettingsError
from formnet.evaluation.evaluate import headline_f1
from formnet.training.config import FineTuning, load_settings, read_yaml
from formnet.training.experiments.structure import summarize_structure
from formnet.training.experiments.trial import (
    for_variant,
    held_out_f1,
    held_out_metrics,
    mean_and_std,
    parameter_count,
    run_trial,
    score_trial,
)

#: What variants are scored on without test documents.
HELD_OUT_DOCUMENTS = "the held-out part of training"


def read_variants(file: Path) -> dict[str, list[str]]:
    """Read a YAML file that maps names of variants to lists of overrides."""
    data = read_yaml(file)
    if not all(isinstance(value, list) for value in data.values()):
        raise SettingsError(f"{file}: expected names of variants, each with a list of settings such as epochs=10.")
    return {str(name): [str(item) for item in items] for name, items in data.items()}


def compare(
    config: Path,
    variants: Mapping[str, Sequence[str]],
    seeds: Sequence[int],
    test: str | None = None,
    common: Sequence[str] = (),
    folds: Sequence[int] = (),
) -> dict[str, Any]:
    """Train every variant with every seed, and score it on the held-out documents.

    `common` overrides apply to all variants. With `folds`, each of these parts of the documents is held out in turn.
    With `test`, variants are scored on test documents instead. Such scores are for reporting and must not be used to
    choose a variant.
    """
    rows = []
    for name, overrides in variants.items():
        run = load_settings(FineTuning, config, [*common, *overrides])
        if test is None and not run.validation and not run.held_out:
            raise SettingsError(f"{config}: a comparison needs held-out documents. Set held_out or validation.")
        if folds and (run.validation or not run.held_out):
            raise SettingsError(
                f"{config}: folds are parts of the training documents. Set held_out, and no validation."
            )
        runs = {f"{name} {fold}": _load_fold(config, [*common, *overrides], fold) for fold in folds} or {name: run}
        trials = [for_variant(run, folder, seed) for folder, run in runs.items() for seed in seeds]
        rows.append(
            {
                "variant": name,
                "overrides": list(overrides),
                "f1": mean_and_std([_score(trial, test) for trial in trials]),
                "parameters": parameter_count(trials[0]),
                **({"heads": _heads(trials), **_structure(trials)} if test is None else {}),
            }
        )
    held_out = {"folds": list(folds)} if folds else {}
    return {"seeds": list(seeds), **held_out, "judged_on": test or HELD_OUT_DOCUMENTS, "rows": rows}


def _load_fold(config: Path, overrides: Sequence[str], fold: int) -> FineTuning:
    return load_settings(FineTuning, config, [*overrides, f"held_out_fold={fold}"])


def _heads(trials: Sequence[FineTuning]) -> dict[str, Any]:
    """Return F1 on the held-out documents by head."""
    scores = [held_out_f1(trial) for trial in trials]
    return {head: mean_and_std([by_head[head] for by_head in scores]) for head in scores[0]}


def _structure(trials: Sequence[FineTuning]) -> dict[str, Any]:
    """Return the scores of links and trees on the held-out documents, if the model predicts links with one head."""
    metrics = [scores for trial in trials for scores in held_out_metrics(trial).values() if "structure" in scores]
    if len(metrics) != len(trials):
        return {}
    return {"structure": summarize_structure([scores["structure"] for scores in metrics])}


def _score(trial: FineTuning, test: str | None) -> float:
    """Train, and return F1 on the test documents, or the mean F1 of all heads on the held-out documents."""
    if test is None:
        run_trial(trial)
        return float(np.mean([*held_out_f1(trial).values()]))
    return headline_f1(score_trial(trial, test)["given"])
