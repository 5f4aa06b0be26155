"""Evaluation of a trained model on a labeled corpus: entity, word and field scores, and calibration."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from formnet.document import Document, Entity
from formnet.document.tags import Span, TagScheme
from formnet.evaluation.calibration import coverage_at_precision, reliability
from formnet.evaluation.counts import Counts, bootstrap_interval, sum_counts
from formnet.evaluation.entities import (
    MISS_KINDS,
    count_miss_kinds,
    entity_counts,
    entity_spans,
    gold_spans,
    word_counts,
)
from formnet.evaluation.fields import are_correct, field_counts
from formnet.extraction.extractor import Extractor


@dataclass(frozen=True)
class DocumentResult:
    """A document with its predicted entities and gold spans."""

    document: Document
    predicted: Sequence[Entity]
    gold: Sequence[Span]

    @property
    def counts(self) -> Counts:
        """Entity counts; any occurrence of an entered field value is correct."""
        return entity_counts(self.gold, entity_spans(self.predicted), single_valued=self.document.fields)

    @property
    def missed(self) -> set[Span]:
        """Missed gold spans; for an entered field value of which no occurrence was found, its first occurrence."""
        gold, predicted = set(self.gold), set(entity_spans(self.predicted))
        first: dict[str, Span] = {}
        for span in sorted(gold, key=lambda span: span.start):
            first.setdefault(span.label, span)
        found_labels = {span.label for span in gold & predicted}
        return {
            span
            for span in gold - predicted
            if span.label not in self.document.fields or (span == first[span.label] and span.label not in found_labels)
        }


class EvaluationResult(NamedTuple):
    """Results per document, and the tag scheme of the evaluated head."""

    documents: list[DocumentResult]
    scheme: TagScheme


def predict_and_compare(
    extractor: Extractor, documents: Sequence[Document], head: str | None = None
) -> EvaluationResult:
    """Extract entities and pair them with the gold spans; without `head`, choose the head that has the labels."""
    if head is None:
        head = extractor.head_for({entity.label for document in documents for entity in document.entities})
    scheme = extractor.heads[head]
    predicted = extractor.entities(documents, head)
    results = [
        DocumentResult(document, entities, gold_spans(document, scheme))
        for document, entities in zip(documents, predicted, strict=True)
    ]
    return EvaluationResult(results, scheme)


def unknown_labels(results: Sequence[DocumentResult], known: Collection[str]) -> dict[str, int]:
    """Count the documents with labels that the evaluated head does not have and that are therefore not scored."""
    labels = Counter(
        label
        for result in results
        for label in {*result.document.fields, *(entity.label for entity in result.document.entities)}
        if label not in known
    )
    return dict(labels.most_common())


def compute_metrics(results: Sequence[DocumentResult], scheme: TagScheme) -> dict[str, Any]:
    """Compute entity and word scores, calibration and, for documents with entered values, field scores."""
    counts = [result.counts for result in results]
    confidences = [entity.score or 0.0 for result in results for entity in result.predicted]
    correct = [
        is_correct for result in results for is_correct in are_correct(result.document, result.predicted, scheme)
    ]
    threshold, coverage = coverage_at_precision(confidences, correct)
    misses = sum(
        (count_miss_kinds(result.missed, entity_spans(result.predicted)) for result in results), Counter[str]()
    )
    word_totals = sum_counts(word_counts(result.gold, entity_spans(result.predicted)) for result in results)
    metrics = {
        "documents": len(results),
        "entities": {
            **sum_counts(counts).to_json(),
            "interval": bootstrap_interval(counts),
            "lost": {kind: misses[kind] for kind in MISS_KINDS},
        },
        "words": word_totals.to_json(),
        "calibration": {
            **reliability(confidences, correct).to_json(),
            "at_99_percent_precision": {"threshold": threshold, "share": coverage},
        },
    }
    if any(result.document.fields for result in results):
        fields = field_counts(
            [result.document for result in results], [result.predicted for result in results], scheme.entity_types
        )
        metrics["fields"] = {**fields.to_json(), "interval": bootstrap_interval(fields.by_document)}
    return metrics
