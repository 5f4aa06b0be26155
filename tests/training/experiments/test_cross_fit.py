"""Calibration by cross-fitting."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.__main__ import app as benchmarks
from command_line import run_command, run_for_stdout, runner
from formnet.cli import app
from formnet.evaluation.calibration import Outcomes, apply_platt
from formnet.evaluation.straight_through import DocumentOutcome
from formnet.extraction.extractor import Extractor
from formnet.extraction.schema import Schema
from formnet.io.readers import read
from formnet.io.writers import write
from formnet.training.data import load_training_data
from formnet.training.experiments.cross_fit import HeadOutcomes, evaluate_methods, fit_all, fold_run, read_outcomes
from small_runs import EXAMPLES, SMALL_MODEL, small_run


def make_folds(count: int) -> list[HeadOutcomes]:
    """Return folds with an overconfident label, an underconfident one and a rare one."""
    generator = np.random.default_rng(0)

    def outcomes(size: int, slope: float, intercept: float) -> Outcomes:
        x = generator.normal(2, 2, size)
        return Outcomes(x, generator.random(size) < apply_platt(x, slope, intercept))

    return [
        {"": {"address": outcomes(400, 0.6, -1), "total": outcomes(400, 1.5, 1.5), "tip": outcomes(5, 1, 0)}}
        for _ in range(count)
    ]


def test_evaluate_methods_prefers_parameters_by_label() -> None:
    result = evaluate_methods(make_folds(4), "")
    errors = {name: quality["ece"] for name, quality in result["methods"].items()}
    losses = {name: quality["log_loss"] for name, quality in result["methods"].items()}
    assert result["entities"] == 4 * 805
    assert errors["platt by label"] < 0.03 < errors["uncalibrated"]
    assert min(losses, key=lambda name: losses[name]) == "platt by label"
    assert 0 < result["coverage"]["share"] < 1
    assert result["precision"]["share"] > 0.97


def test_fit_all_uses_every_fold() -> None:
    folds = make_folds(4)
    fitted = fit_all(folds)[""]
    assert fitted["address"].slope == pytest.approx(0.6, abs=0.1)
    assert fitted["total"].slope == pytest.approx(1.5, abs=0.3)
    assert fit_all(folds[:1])[""]["total"] != fitted["total"]


def test_fold_run_folds_hold_out_every_document_once(vocabulary: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    examples = list(read(EXAMPLES))
    write([replace(examples[i % 2], id=f"copy {i}") for i in range(12)], corpus)
    run = small_run(vocabulary, tmp_path, corpus=f"jsonl:{corpus}", validation="jsonl:nothing", held_out=0.1)
    folds = [fold_run(run, fold, 3) for fold in range(3)]
    assert [fold.held_out_fold for fold in folds] == [0, 1, 2]
    assert len({fold.output for fold in folds}) == 3
    assert all(fold.validation == () for fold in folds)
    held_out = [
        document.id for fold in folds for head in load_training_data(fold).values() for document in head.held_out
    ]
    assert sorted(held_out) == sorted(f"copy {i}" for i in range(12))


@pytest.mark.training
@pytest.mark.slow
def test_calibrate_command_resumes_and_writes_the_calibration(vocabulary: Path, tmp_path: Path) -> None:
    examples = list(read(EXAMPLES))
    corpus = tmp_path / "corpus.jsonl"
    write([replace(examples[i % 2], id=f"copy {i}") for i in range(12)], corpus)
    optimization = {"learning_rate": 6e-3, "max_batch_documents": 2, "bf16": False, "compile": False}
    settings: dict[str, Any] = {
        "corpus": f"jsonl:{corpus}",
        "init": {"size": "tiny", "tokenizer": str(vocabulary), "overrides": SMALL_MODEL},
        "output": str(tmp_path / "run"),
        "epochs": 8,
        "optimization": optimization,
    }
    config = tmp_path / "run.yaml"
    config.write_text(json.dumps(settings))
    run_command("train", str(config))
    model, out = tmp_path / "run", tmp_path / "calibration.json"
    labels = Extractor.from_pretrained(model).heads[""].entity_types
    Schema.flat(labels).save(model)
    arguments = ["calibrate", str(config), str(model), "--folds", "2", "--out", str(out)]
    assert "1 of 2 folds are scored" in run_command(*arguments, "--fold", "1")
    assert not Extractor.from_pretrained(model).calibration("")
    shutil.rmtree(model / "fold-1-of-2")  # another machine
    shown = json.loads(run_for_stdout(*arguments))
    assert not (model / "fold-1-of-2").exists()
    record = json.loads(out.read_text())["models"]["run"]
    assert [fold["fold"] for fold in record["folds"]] == [0, 1]
    assert sum(fold["heads"][""]["documents"] for fold in record["folds"]) == 12
    by_document = [DocumentOutcome.from_json(o) for fold in record["folds"] for o in fold["heads"][""]["by_document"]]
    assert len(by_document) == 12
    assert {field.label for outcome in by_document for field in outcome.fields} <= {*labels}
    assert any(outcome.fields for outcome in by_document)
    accepted = json.loads(run_for_stdout("straight-through", str(model), str(out), settings["corpus"], app=benchmarks))[
        "corpora"
    ][settings["corpus"]]
    assert (accepted["folds"], accepted["held_out_documents"], accepted["correct"]["of"]) == (2, 12, 12)
    assert accepted["without_checks"]["rate"]["share"] == 0  # 12 documents cannot show a precision of 99 %
    assert shown["held_out"] == record["held_out"]
    folds = read_outcomes(record["folds"])
    assert any(len(outcome.correct) for fold in folds for outcome in fold[""].values())
    calibrated = Extractor.from_pretrained(model)
    assert calibrated.calibration("") == fit_all(folds)[""]
    (scored,) = calibrated.entities(examples[:1])
    calibrated.set_calibration({})
    (raw,) = calibrated.entities(examples[:1])
    assert [(entity.label, entity.words) for entity in scored] == [(entity.label, entity.words) for entity in raw]
    by_label = fit_all(folds)[""]
    assert [entity.score for entity in scored] == [by_label[e.label].calibrate(e.score or 0.0) for e in raw]


def test_calibrate_command_unknown_fold_raises(vocabulary: Path, tmp_path: Path) -> None:
    config = tmp_path / "run.yaml"
    config.write_text(
        json.dumps(
            {"corpus": f"jsonl:{EXAMPLES}", "init": {"size": "tiny", "tokenizer": str(vocabulary)}, "output": "x"}
        )
    )
    result = runner.invoke(app, ["calibrate", str(config), "receipts", "--fold", "5"])
    assert "The folds are 0 to 4" in str(result.exception)
