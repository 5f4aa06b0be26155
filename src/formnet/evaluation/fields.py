"""Field scores: one extracted value per field and document against the value that a person entered.

Values match if they have the same letters and digits, are the same amount or are the same date. Exact string matching,
SROIE's official metric, is reported as well. A value that is not printed in the document counts as missed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from formnet.document import Document, Entity
from formnet.document.tags import TagScheme
from formnet.document.values.match import is_attainable, values_match
from formnet.evaluation.counts import Counts, sum_counts
from formnet.evaluation.entities import entity_counts, entity_spans, gold_spans


@dataclass
class FieldScore:
    """Counts per document, for normalized values and for exact strings."""

    by_document: list[Counts]
    exact_by_document: list[Counts]

    def to_json(self) -> dict[str, Any]:
        """Return both scores as plain data."""
        return {
            **sum_counts(self.by_document).to_json(),
            "exact_string": sum_counts(self.exact_by_document).to_json(),
        }


def field_counts(
    documents: Sequence[Document], entities: Sequence[Sequence[Entity]], names: Sequence[str]
) -> FieldScore:
    """Score the most confident value of each field; fields without an entered value are scored as entities."""
    score = FieldScore([], [])
    entered_anywhere = {name for document in documents for name in document.fields}
    for document, predicted in zip(documents, entities, strict=True):
        gold_values = {name: value for name, value in document.fields.items() if name in names}
        # A field that other documents have, and that is neither entered nor labeled in this one, is absent from it.
        labels = {entity.label for entity in document.entities}
        absent = entered_anywhere - labels if document.fields else set[str]()
        fields = {*names} & {*gold_values, *absent}
        values = best_values(predicted, fields)
        others = {*names} - fields
        gold_entities, predicted_entities = (
            entity_spans(entity for entity in group if entity.label in others)
            for group in (document.entities, predicted)
        )
        as_entities = entity_counts(gold_entities, predicted_entities)
        score.by_document.append(sum_counts([count_values(gold_values, values, values_match), as_entities]))
        score.exact_by_document.append(sum_counts([count_values(gold_values, values, _strings_match), as_entities]))
    return score


def printed_counts(
    documents: Sequence[Document], entities: Sequence[Sequence[Entity]], names: Sequence[str]
) -> list[Counts]:
    """Score as `field_counts` does, setting apart the values that no words of their document match."""
    printed = []
    for document, predicted in zip(documents, entities, strict=True):
        missing = {name for name, value in document.fields.items() if not is_attainable(document, value)}
        fields = {name: value for name, value in document.fields.items() if name not in missing}
        gold, kept = ([e for e in part if e.label not in missing] for part in (document.entities, predicted))
        printed.append((replace(document, fields=fields, entities=tuple(gold), links=()), kept))
    return field_counts([d for d, _ in printed], [p for _, p in printed], names).by_document


def best_values(entities: Iterable[Entity], names: Collection[str]) -> dict[str, str]:
    """Return the text of the most confident entity of each field."""
    best: dict[str, Entity] = {}
    for entity in entities:
        if entity.label in names and (entity.score or 0) > (
            best[entity.label].score or 0 if entity.label in best else -1
        ):
            best[entity.label] = entity
    return {name: entity.text for name, entity in best.items()}


def are_correct(document: Document, predicted: Sequence[Entity], scheme: TagScheme) -> list[bool]:
    """Return for each predicted entity whether it matches the entered value or, without one, a labeled entity."""
    gold = set(gold_spans(document, scheme))
    return [
        values_match(document.fields[entity.label], entity.text)
        if entity.label in document.fields
        else gold.issuperset(entity_spans([entity]))
        for entity in predicted
    ]


def _strings_match(gold: str, predicted: str) -> bool:
    return gold.strip() == predicted.strip()


def count_values(gold: Mapping[str, str], values: Mapping[str, str], match: Callable[[str, str], bool]) -> Counts:
    """Count the values of one document by field."""
    counts = Counts()
    for name, value in gold.items():
        counts.by_type[name].gold += 1
        counts.by_type[name].correct += name in values and match(value, values[name])
    for name in values:
        counts.by_type[name].predicted += 1
    return counts
