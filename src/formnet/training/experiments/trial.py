"""One run and its score: trained if it is not there yet, then judged on documents that no choice was made on."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from formnet.datasets import open_corpus
from formnet.datasets.alignment import with_entities
from formnet.datasets.near_duplicates import SAME, closest
from formnet.document.reading_order import Order
from formnet.errors import SettingsError
from formnet.evaluation.evaluate import judge, report
from formnet.extraction.extractor import Extractor
from formnet.training.config import FineTuning
from formnet.training.data import load_labeled, with_segment_boxes
from formnet.training.finetune import finetune
from formnet.training.run_directory import DONE, HELD_OUT, claim_run_directory, origin_of
from formnet.training.trainer import this_process


def run_trial(run: FineTuning) -> Extractor:
    """Train, or load what an earlier call with the same settings trained."""
    if this_process()[1] > 1:
        raise SettingsError("experiments run in one process; under torchrun, call formnet train with each seed.")
    if (run.output / DONE).is_file():
        claim_run_directory(run, resume=True, origin=origin_of(run.start, load_labeled(run)))
        options = {"max_batch_tokens": run.optimization.max_batch_tokens, "bf16": run.optimization.bf16}
        return Extractor.from_pretrained(run.output, **options)
    return finetune(run)


def parameters_of(run: FineTuning) -> int:
    """How many weights the network of a run that is over has."""
    count: int = json.loads((run.output / DONE).read_text(encoding="utf-8"))["parameters"]
    return count


def held_out_f1(run: FineTuning) -> dict[str, float]:
    """F1 of a run that is over on what it held out, by head."""
    file = run.output / HELD_OUT
    heads = json.loads(file.read_text(encoding="utf-8"))["heads"] if file.is_file() else {}
    return {head: headline(figures) for head, figures in heads.items() if figures["documents"]}


def headline(report: dict[str, Any]) -> float:
    """F1 as users would count: of fields where values were keyed in, or of entities."""
    f1: float = report["fields" if "fields" in report else "entities"]["f1"]
    return f1


def score_trial(run: FineTuning, test: str, orders: Sequence[Order] = ("given",)) -> dict[str, Any]:
    """Train and judge in each reading order; fields are scored where values were keyed in."""
    extractor = run_trial(run)
    trained = [document for spec in run.corpus for document in open_corpus(spec)]
    seen = {pair.document for pair in closest(open_corpus(test), trained) if pair.share >= SAME}
    scores: dict[str, Any] = {}
    for order in orders:
        corpus = open_corpus(test, order)
        documents = with_entities(corpus, run.occurrences)
        if run.segment_boxes:
            documents = [with_segment_boxes(document) for document in documents]
        judged, scheme = judge(extractor, documents)
        figures = report(judged, scheme)
        # Some corpora have nearly the same document in training and in test: the score without those stands beside.
        new = [one for one in judged if one.document.id not in seen]
        unseen = report(new, scheme) if len(new) < len(judged) else figures
        scores[order] = {**figures, "not_in_training": unseen}
    return scores


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Give the mean, the standard deviation between runs and the runs themselves."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "std": deviation, "per_seed": list(values)}


def of_seed(run: FineTuning, seed: int, name: str = "") -> FineTuning:
    """Give the run with another seed and a folder of its own."""
    return run.model_copy(update={"seed": seed, "output": Path(run.output) / f"{name}seed-{seed}"})
