"""Calibration by cross-fitting: every training document is scored by a model that was not trained on it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from formnet.errors import SettingsError
from formnet.evaluation.calibration import (
    POOLED_DEVIATION,
    Floats,
    Outcomes,
    apply_platt,
    fit_calibration,
    fit_isotonic,
    fit_platt,
    proportion,
    reliability,
)
from formnet.evaluation.evaluate import collect_outcomes, compute_metrics, headline_f1, predict_and_compare
from formnet.evaluation.straight_through import collect_documents
from formnet.extraction.calibration import LabelCalibration
from formnet.extraction.extractor import Extractor
from formnet.extraction.pretrained import find_model
from formnet.extraction.schema import Schema
from formnet.io.writers import atomic_write
from formnet.training.config import FineTuning
from formnet.training.data import load_training_data
from formnet.training.experiments.trial import run_trial

#: Outcomes by head and label.
HeadOutcomes = dict[str, dict[str, Outcomes]]


def fold_run(run: FineTuning, fold: int, folds: int) -> FineTuning:
    """Return the run that holds out one fold of the training documents."""
    update = {
        "held_out": 1 / folds,
        "held_out_fold": fold,
        "validation": (),
        "eval_every": run.epochs,
        "output": run.output / f"fold-{fold}-of-{folds}",
    }
    return run.model_copy(update=update)


def score_fold(run: FineTuning, schema: Schema | None) -> dict[str, Any]:
    """Train with one fold held out, or load the finished run, and score the fold: F1 and outcomes by head."""
    return score_held_out(run_trial(run), run, schema)


def score_held_out(extractor: Extractor, run: FineTuning, schema: Schema | None) -> dict[str, Any]:
    """Score the documents that a run holds out by a model that it has trained: F1 and outcomes by head.

    With a schema, the outcomes of documents are included, with those of its checks.
    """
    extractor.set_calibration({})
    extractor.set_schema(schema)
    result: dict[str, Any] = {"fold": run.held_out_fold, "heads": {}}
    for head, data in zip(extractor.heads, load_training_data(run).values(), strict=True):
        evaluated = predict_and_compare(extractor, data.held_out, head)
        metrics = compute_metrics(*evaluated)
        result["heads"][head] = {
            "documents": len(data.held_out),
            "f1": headline_f1(metrics),
            "outcomes": {
                label: {"log_odds": outcome.log_odds.round(3).tolist(), "correct": outcome.correct.astype(int).tolist()}
                for label, outcome in collect_outcomes(*evaluated).items()
            },
        }
        if schema is not None:
            annotated = extractor.annotate(result.document for result in evaluated.documents)
            outcomes = collect_documents(evaluated, list(annotated), schema)
            result["heads"][head]["by_document"] = [outcome.to_json() for outcome in outcomes]
    return result


def read_outcomes(folds: Sequence[Mapping[str, Any]]) -> list[HeadOutcomes]:
    """Parse the outcomes of folds."""
    return [
        {
            head: {
                label: Outcomes(np.array(o["log_odds"], np.float64), np.array(o["correct"], np.bool_))
                for label, o in part["outcomes"].items()
            }
            for head, part in fold["heads"].items()
        }
        for fold in folds
    ]


def calibrate_model(model: str, folds: Sequence[HeadOutcomes]) -> None:
    """Fit the calibration on all folds, and write it to the configuration of a model."""
    extractor = Extractor.from_pretrained(model)
    expected = {head: set(labels) for head, labels in folds[0].items()}
    if {head: set(scheme.entity_types) for head, scheme in extractor.heads.items()} != expected:
        raise SettingsError(
            f"{model}: the model does not have the labels of this configuration. Use the one that it was trained with."
        )
    extractor.set_calibration(fit_all(folds))
    file = find_model(model) / "config.json"
    config = json.loads(file.read_text(encoding="utf-8"))
    with atomic_write(file) as part:
        task = extractor.model.config.task
        part.write_text(json.dumps({**config, "task": task}, indent=2) + "\n", encoding="utf-8")


def fit_all(folds: Sequence[HeadOutcomes]) -> dict[str, dict[str, LabelCalibration]]:
    """Fit the calibration of each head on all folds."""
    return {head: fit_calibration(_join(folds, head)) for head in folds[0]}


def evaluate_methods(folds: Sequence[HeadOutcomes], head: str) -> dict[str, Any]:
    """Fit each method on all folds but one and measure it on that one, so that methods can be chosen.

    Returns the calibration error and mean log loss by method, and coverage and precision at the thresholds of the
    method in use, Platt scaling by label.
    """
    scores: dict[str, list[Floats]] = {name: [] for name in METHODS}
    correct: list[np.ndarray[Any, np.dtype[np.bool_]]] = []
    accepted: list[np.ndarray[Any, np.dtype[np.bool_]]] = []
    for index, fold in enumerate(folds):
        others = _join([other for i, other in enumerate(folds) if i != index], head)
        calibration = fit_calibration(others)
        functions = {name: fit(others) for name, fit in METHODS.items()}
        for label, outcome in fold[head].items():
            correct.append(outcome.correct)
            for name, function in functions.items():
                scores[name].append(function(label, outcome.log_odds))
            threshold = calibration[label].threshold
            accepted.append(scores["platt by label"][-1] >= (np.inf if threshold is None else threshold))
    is_correct, is_accepted = np.concatenate(correct), np.concatenate(accepted)
    return {
        "entities": len(is_correct),
        "methods": {name: _quality(np.concatenate(parts), is_correct) for name, parts in scores.items()},
        "coverage": proportion(int(is_accepted.sum()), len(is_accepted)),
        "precision": proportion(int((is_accepted & is_correct).sum()), int(is_accepted.sum())),
    }


def summarize(folds: Sequence[HeadOutcomes]) -> dict[str, Any]:
    """Return held-out quality and the parameters fitted on all folds, by head."""
    return {
        "held_out": {head: evaluate_methods(folds, head) for head in folds[0]} if len(folds) > 1 else {},
        "calibration": {
            head: {label: asdict(part) for label, part in by_label.items()} for head, by_label in fit_all(folds).items()
        },
    }


ScoreFn = Callable[[str, Floats], Floats]


def _identity(_: Mapping[str, Outcomes]) -> ScoreFn:
    return lambda _, log_odds: apply_platt(log_odds, 1.0, 0.0)


def _temperature(outcomes: Mapping[str, Outcomes]) -> ScoreFn:
    joined = Outcomes.join(list(outcomes.values()))
    slope, _ = fit_platt(joined, (1.0, 0.0), POOLED_DEVIATION, fixed_intercept=True)
    return lambda _, log_odds: apply_platt(log_odds, slope, 0.0)


def _pooled_platt(outcomes: Mapping[str, Outcomes]) -> ScoreFn:
    parameters = fit_platt(Outcomes.join(list(outcomes.values())), (1.0, 0.0), POOLED_DEVIATION)
    return lambda _, log_odds: apply_platt(log_odds, *parameters)


def _platt(outcomes: Mapping[str, Outcomes]) -> ScoreFn:
    calibration = fit_calibration(outcomes)
    return lambda label, log_odds: apply_platt(log_odds, calibration[label].slope, calibration[label].intercept)


def _isotonic(outcomes: Mapping[str, Outcomes]) -> ScoreFn:
    pooled = fit_isotonic(Outcomes.join(list(outcomes.values())))
    points = {label: fit_isotonic(outcome) if len(outcome.correct) else pooled for label, outcome in outcomes.items()}
    return lambda label, log_odds: np.interp(log_odds, *points[label])


#: Methods compared on held-out folds.
METHODS: dict[str, Callable[[Mapping[str, Outcomes]], ScoreFn]] = {
    "uncalibrated": _identity,
    "temperature": _temperature,
    "platt": _pooled_platt,
    "platt by label": _platt,
    "isotonic by label": _isotonic,
}


def _quality(scores: Floats, correct: np.ndarray[Any, np.dtype[np.bool_]]) -> dict[str, float]:
    clipped = np.clip(scores, 1e-4, 1 - 1e-4)
    log_loss = -np.log(np.where(correct, clipped, 1 - clipped)).mean()
    return {"ece": reliability(scores, correct).ece, "log_loss": float(log_loss)}


def _join(folds: Sequence[HeadOutcomes], head: str) -> dict[str, Outcomes]:
    return {label: Outcomes.join([fold[head][label] for fold in folds]) for label in folds[0][head]}
