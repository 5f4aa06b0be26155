"""Evaluation of a trained model on a labeled corpus: entity, word and field scores, and calibration."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from formnet.document import Document, Entity
from formnet.document.tags import Span, TagScheme
from formnet.evaluation.calibration import NOMINAL_PRECISION, Outcomes, proportion, reliability, risk_coverage
from formnet.evaluation.counts import Counts, bootstrap_interval, sum_counts
from formnet.evaluation.entities import (
    MISS_KINDS,
    count_miss_kinds,
    entity_counts,
    entity_spans,
    gold_spans,
    word_counts,
)
from formnet.evaluation.fields import are_correct, field_counts, printed_counts
from formnet.evaluation.links import Links, score_links
from formnet.evaluation.trees import TreeScores, find_cord_schema, text_tree
from formnet.extraction.calibration import LabelCalibration, log_odds
from formnet.extraction.extractor import Extractor
from formnet.extraction.rows import links_by_position
from formnet.extraction.schema import Schema


@dataclass(frozen=True)
class DocumentResult:
    """A document with its predicted entities and gold spans."""

    document: Document
    predicted: Sequence[Entity]
    gold: Sequence[Span]
    links: Links = ()  # between predicted entities
    gold_links: Links = ()  # predicted between the labeled entities

    @property
    def counts(self) -> Counts:
        """Entity counts; any occurrence of an entered field value is correct."""
        return entity_counts(self.gold, entity_spans(self.predicted), single_valued=self.document.fields)

    def are_correct(self, scheme: TagScheme) -> list[bool]:
        """Return for each predicted entity whether it is correct."""
        return are_correct(self.document, self.predicted, scheme)

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
    """Results per document, and the tag scheme and calibration of the evaluated head."""

    documents: list[DocumentResult]
    scheme: TagScheme
    calibration: Mapping[str, LabelCalibration]


def predict_and_compare(
    extractor: Extractor, documents: Sequence[Document], head: str | None = None
) -> EvaluationResult:
    """Extract entities and pair them with the gold spans; without `head`, choose the head that has the labels.

    The results have the words of a document in the order in which the model reads them, so that an entity that is
    contiguous for the model is one span.
    """
    if head is None:
        head = extractor.head_for({entity.label for document in documents for entity in document.entities})
    scheme = extractor.heads[head]
    predicted = dict(extractor.iter_annotations(documents, head))
    for i, document in enumerate(documents):
        if document.annotated is not None:  # other labels cannot be judged
            predicted[i] = predicted[i].keep_labels(document.annotated)
    gold_links = extractor.link_entities(documents, head) if extractor.predicts_links(head) else [[] for _ in documents]
    results = []
    for i, (document, numbers) in enumerate(zip(*extractor.in_reading_order(documents), strict=True)):
        annotations = predicted[i].renumber_words(np.argsort(numbers))
        links = [(owner, part) for owner, part, _ in gold_links[i]]
        gold = gold_spans(document, scheme)
        results.append(DocumentResult(document, annotations.entities, gold, annotations.links, links))
    return EvaluationResult(results, scheme, extractor.calibration(head))


def unknown_labels(results: Sequence[DocumentResult], known: Collection[str]) -> dict[str, int]:
    """Count the documents with labels that the evaluated head does not have and that are therefore not scored."""
    labels = Counter(
        label
        for result in results
        for label in {*result.document.fields, *(entity.label for entity in result.document.entities)}
        if label not in known
    )
    return dict(labels.most_common())


def collect_outcomes(
    results: Sequence[DocumentResult], scheme: TagScheme, calibration: Mapping[str, LabelCalibration]
) -> dict[str, Outcomes]:
    """Collect the outcomes of an uncalibrated model by label, to fit its calibration."""
    assert not calibration, "outcomes hold the probabilities before calibration"
    rows: dict[str, list[tuple[float, bool]]] = {label: [] for label in scheme.entity_types}
    for result in results:
        for entity, is_correct in zip(result.predicted, result.are_correct(scheme), strict=True):
            rows[entity.label].append((log_odds(entity.score or 0.0), is_correct))
    return {
        label: Outcomes(np.array([x for x, _ in part]), np.array([y for _, y in part], np.bool_))
        for label, part in rows.items()
    }


def compute_metrics(
    results: Sequence[DocumentResult], scheme: TagScheme, calibration: Mapping[str, LabelCalibration]
) -> dict[str, Any]:
    """Compute entity and word scores, calibration and, for documents with entered values, field scores."""
    counts = [result.counts for result in results]
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
    }
    if any(result.document.fields for result in results):
        documents, predicted = [result.document for result in results], [result.predicted for result in results]
        fields = field_counts(documents, predicted, scheme.entity_types)
        printed = printed_counts(documents, predicted, scheme.entity_types)
        counts = fields.by_document
        gold, attainable = (sum_counts(part).micro.gold for part in (counts, printed))
        metrics["fields"] = {
            **fields.to_json(),
            "interval": bootstrap_interval(counts),
            "attainable": proportion(attainable, gold),
            "printed": sum_counts(printed).to_json(),
        }
    if any(result.document.links for result in results) and any(result.gold_links for result in results):
        metrics["structure"] = structure_metrics(results, scheme)
    metrics["calibration"] = _calibration_metrics(results, counts, scheme, calibration)
    return metrics


def structure_metrics(results: Sequence[DocumentResult], scheme: TagScheme) -> dict[str, Any]:
    """Score links between predicted and between labeled entities, and trees of documents with the labels of CORD."""
    metrics: dict[str, Any] = {
        "links": score_links((r.document, r.predicted, r.links) for r in results),
        "links_entities_given": score_links((r.document, r.document.entities, r.gold_links) for r in results),
    }
    by_labels = {
        labels: find_cord_schema(scheme.entity_types if labels is None else labels)
        for labels in {r.document.annotated for r in results}
    }
    schema = next(filter(None, by_labels.values()), None)
    if schema is not None:
        results = [r for r in results if by_labels[r.document.annotated] is not None]
        rule = [links_by_position(r.document, r.document.entities, schema) for r in results]
        metrics["rule_entities_given"] = score_links(
            (r.document, r.document.entities, links) for r, links in zip(results, rule, strict=True)
        )
        for name, predicted in (
            ("trees", [replace(r.document, entities=tuple(r.predicted), links=tuple(r.links)) for r in results]),
            ("trees_by_rule", [_linked_by_rule(r, schema) for r in results]),
        ):
            scores = TreeScores()
            for result, document in zip(results, predicted, strict=True):
                scores.add(text_tree(document, schema), text_tree(result.document, schema))
            metrics[name] = scores.to_json()
    return metrics


def _linked_by_rule(result: DocumentResult, schema: Schema) -> Document:
    links = tuple(links_by_position(result.document, result.predicted, schema))
    return replace(result.document, entities=tuple(result.predicted), links=links)


def compute_metrics_without(evaluated: EvaluationResult, excluded: Collection[str]) -> dict[str, Any]:
    """Compute metrics, and under `not_in_training` those without the documents with the excluded ids."""
    metrics = compute_metrics(*evaluated)
    kept = [result for result in evaluated.documents if result.document.id not in excluded]
    unseen = metrics
    if len(kept) < len(evaluated.documents):
        unseen = compute_metrics(kept, evaluated.scheme, evaluated.calibration)
    return {**metrics, "not_in_training": unseen}


def headline_f1(metrics: dict[str, Any]) -> float:
    """Return F1 of fields where documents have field values, and of entities otherwise."""
    f1: float = metrics["fields" if "fields" in metrics else "entities"]["f1"]
    return f1


def _calibration_metrics(
    results: Sequence[DocumentResult],
    counts: Sequence[Counts],
    scheme: TagScheme,
    calibration: Mapping[str, LabelCalibration],
) -> dict[str, Any]:
    """Compute the calibration error, and what the thresholds of a calibrated model accept without review."""
    scores = [entity.score or 0.0 for result in results for entity in result.predicted]
    correct = [is_correct for result in results for is_correct in result.are_correct(scheme)]
    complete = [c.micro.gold == c.micro.predicted == c.micro.correct for c in counts]
    metrics = {
        **reliability(scores, correct).to_json(),
        "risk_coverage": risk_coverage(scores, correct),
        "documents": {"complete": proportion(sum(complete), len(complete))},
    }
    if calibration:
        by_document = [[calibration[entity.label].accepts(entity.score) for entity in r.predicted] for r in results]
        accepted = [is_accepted for part in by_document for is_accepted in part]
        passed = [bool(part) and all(part) for part in by_document]
        metrics["accepted"] = {
            "nominal_precision": NOMINAL_PRECISION,
            "coverage": proportion(sum(accepted), len(accepted)),
            "precision": proportion(sum(np.logical_and(accepted, correct).tolist()), sum(accepted)),
        }
        metrics["documents"] |= {
            "coverage": proportion(sum(passed), len(passed)),
            "precision": proportion(sum(np.logical_and(passed, complete).tolist()), sum(passed)),
        }
    return metrics
