"""Field scores of SROIE on held-out receipts, with and without splitting glued words such as `DATE:21/03/2018`."""

from collections.abc import Collection
from typing import Any

from formnet.datasets import parse_spec
from formnet.datasets.alignment import with_entities
from formnet.datasets.sroie import Sroie
from formnet.document import Document
from formnet.errors import SettingsError
from formnet.evaluation.evaluate import DocumentResult, EvaluationResult, compute_metrics, predict_and_compare
from formnet.extraction.extractor import Extractor
from formnet.training.config import FineTuning
from formnet.training.data import load_training_data
from formnet.training.experiments.cross_fit import fold_run
from formnet.training.experiments.trial import run_trial
from formnet.training.run_directory import DONE

HEAD = "sroie"


class UnsplitSroie(Sroie):
    """SROIE with words as they are separated by spaces."""

    split_glued = False


def benchmark(run: FineTuning, shipped: str, folds: int) -> dict[str, Any]:
    """Compare on the held-out receipts of the shipped model, which was trained without splitting, and of folds."""
    runs = [fold_run(run, fold, folds) for fold in range(folds)]
    runs = [fold for fold in runs if (fold.output / DONE).is_file()]
    if not runs:
        raise SettingsError(f"{run.output}: no fold is trained. Run formnet calibrate first.")
    spec = next(spec for spec in run.corpus if parse_spec(spec)[0] == HEAD)
    _, path, split = parse_spec(spec)
    corpora = {
        "split": with_entities(Sroie(path, split)),
        "not split": with_entities(UnsplitSroie(path, split)),
    }
    extractor = Extractor.from_pretrained(shipped)
    held_out = _held_out_ids(run)
    result = {
        "shipped model": {
            name: _score([predict_and_compare(extractor, _choose(documents, held_out), HEAD)])
            for name, documents in corpora.items()
        }
    }
    parts: dict[str, list[EvaluationResult]] = {name: [] for name in corpora}
    for fold in runs:
        extractor = run_trial(fold)
        held_out = _held_out_ids(fold)
        for name, documents in corpora.items():
            parts[name].append(predict_and_compare(extractor, _choose(documents, held_out), HEAD))
    result["cross-fitted models"] = {name: _score(evaluated) for name, evaluated in parts.items()}
    return {"corpus": spec, "folds": [fold.held_out_fold for fold in runs], "models": result}


def _held_out_ids(run: FineTuning) -> set[str]:
    return {document.id for document in load_training_data(run)[HEAD].held_out}


def _choose(documents: list[Document], ids: Collection[str]) -> list[Document]:
    return [document for document in documents if document.id in ids]


def _score(evaluated: list[EvaluationResult]) -> dict[str, Any]:
    results: list[DocumentResult] = [result for part in evaluated for result in part.documents]
    metrics = compute_metrics(results, evaluated[0].scheme, {})
    fields = metrics["fields"]
    return {
        "documents": metrics["documents"],
        "f1": fields["f1"],
        "interval": fields["interval"],
        "attainable": fields["attainable"],
        "per_type": {label: part["f1"] for label, part in fields["per_type"].items()},
    }
