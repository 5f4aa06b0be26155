"""`formnet calibrate`: calibrate the scores of a trained model by cross-fitting."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formnet.cli.options import Model
from formnet.cli.results import Out, configure_runtime, print_json
from formnet.cli.train import Config, Overrides

if TYPE_CHECKING:
    from formnet.training import FineTuning

Record = dict[str, Any]


def calibrate(
    config: Config,
    model: Model,
    folds: Annotated[
        int, typer.Option(min=1, help="Number of parts of the training documents; 1 uses the held-out documents only.")
    ] = 5,
    fold: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Train and score only this fold, starting at 0; repeat for several. Default: all."),
    ] = None,
    override: Overrides = None,
    out: Out = None,
) -> None:
    """Calibrate a model's scores: train on all folds but one, score that one, and fit the calibration on all of them.

    Folds that are finished, or recorded in the file --out with the same settings, are not trained again. With
    --folds 1, nothing is trained: the calibration is fitted on the documents that the configuration holds out.
    """
    configure_runtime(training=True)
    from formnet.errors import SettingsError
    from formnet.extraction.extractor import Extractor
    from formnet.extraction.pretrained import find_model
    from formnet.extraction.schema import Schema
    from formnet.training import FineTuning, load_settings
    from formnet.training.experiments import cross_fit

    run = load_settings(FineTuning, config, override or ())
    wanted = fold or list(range(folds))
    if max(wanted) >= folds:
        raise SettingsError(f"--fold: {max(wanted)} does not exist. The folds are 0 to {folds - 1}.")
    record = _read_record(out, model, run, folds)
    schema = Schema.load(find_model(model))
    for number in wanted:
        if all(part["fold"] != number for part in record["folds"]):
            if folds == 1:
                scored = cross_fit.score_held_out(Extractor.from_pretrained(model), run, schema)
            else:
                scored = cross_fit.score_fold(cross_fit.fold_run(run, number, folds), schema)
            record = _read_record(out, model, run, folds) if out is not None else record
            record["folds"] = sorted([*record["folds"], scored], key=lambda part: int(part["fold"]))
            _write_record(out, model, record)
    if len(record["folds"]) < folds:
        typer.echo(f"{len(record['folds'])} of {folds} folds are scored; the model is not changed.", err=True)
        return
    outcomes = cross_fit.read_outcomes(record["folds"])
    record = {**record, **cross_fit.summarize(outcomes)}
    _write_record(out, model, record)
    cross_fit.calibrate_model(model, outcomes)
    print_json({"model": model, "held_out": record["held_out"]})


def _read_record(out: Path | None, model: str, run: "FineTuning", folds: int) -> Record:
    """Return what is recorded for a model, or an empty record; raise if it was recorded with other settings."""
    from formnet.errors import SettingsError
    from formnet.training.run_directory import changed_settings

    models = json.loads(out.read_text(encoding="utf-8")).get("models", {}) if out is not None and out.is_file() else {}
    record: Record | None = models.get(Path(model).name)
    if record is None:
        return {"config": run.model_dump(mode="json"), "number_of_folds": folds, "folds": []}
    changed = changed_settings(record["config"], run)
    changed += ["folds"] if record["number_of_folds"] != folds else []
    if changed:
        raise SettingsError(
            f"--out: {out} contains folds with different settings ({', '.join(changed)}). Use another file."
        )
    return record


def _write_record(out: Path | None, model: str, record: Record) -> None:
    """Write the record of a model to a file, next to those of other models."""
    from formnet.evaluation.provenance import provenance

    if out is not None:
        models = json.loads(out.read_text(encoding="utf-8")).get("models", {}) if out.is_file() else {}
        models[Path(model).name] = {**record, **provenance()}
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(_to_json({"models": dict(sorted(models.items()))}), encoding="utf-8")


def _to_json(data: Record) -> str:
    """Format with indentation, but innermost lists on one line."""
    import re

    text = json.dumps(data, indent=1)
    return re.sub(r"\[[^\[\]{}]*\]", lambda values: re.sub(r"\n\s*", "", values[0]), text) + "\n"
