"""Documents that need no review: thresholds from held-out documents, applied to test documents."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formnet.datasets import open_corpus_for
from formnet.datasets.alignment import with_entities
from formnet.errors import SettingsError
from formnet.evaluation.evaluate import predict_and_compare
from formnet.evaluation.straight_through import DocumentOutcome, collect_documents, straight_through
from formnet.extraction.extractor import Extractor


def benchmark(model: str, record_file: Path, tests: Sequence[str]) -> dict[str, Any]:
    """Choose thresholds on the documents in a record of `formnet calibrate`, and report what they accept of tests."""
    try:
        record = json.loads(record_file.read_text(encoding="utf-8"))["models"][Path(model).name]
    except (OSError, ValueError, KeyError) as error:
        raise SettingsError(f"{record_file}: has no calibration of {model}. Run formnet calibrate first.") from error
    extractor = Extractor.from_pretrained(model)
    calibration = {head: extractor.calibration(head) for head in extractor.heads}
    extractor.set_calibration({})
    corpora = {}
    for test in tests:
        documents = with_entities(open_corpus_for(extractor.labels, test))
        head = extractor.head_for({entity.label for document in documents for entity in document.entities})
        folds = [fold["heads"][head] for fold in record["folds"]]
        held_out = [DocumentOutcome.from_json(outcome) for fold in folds for outcome in fold.get("by_document", ())]
        if not held_out:
            raise SettingsError(
                f"{record_file}: has no outcomes of documents. Run formnet calibrate with another --out."
            )
        evaluated = predict_and_compare(extractor, documents, head)
        annotated = extractor.annotate(result.document for result in evaluated.documents)
        outcomes = collect_documents(evaluated, list(annotated), extractor.schema)
        scores = straight_through(held_out, outcomes, calibration[head])
        corpora[test] = {"folds": sum("by_document" in fold for fold in folds), **scores}
    return {"model": model, "number_of_folds": record["number_of_folds"], "corpora": corpora}
