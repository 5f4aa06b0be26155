"""Field values against what people keyed in: one value a field and document.

A value is right if it says the same: equal letters and digits, or the same amount, or the same day. The official way of
SROIE, equal strings, stands beside it. A value that no words of the document say counts as missed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from formnet.document import Document, Entity
from formnet.document.tags import TagScheme
from formnet.document.values.parse import amount, day, fold, number
from formnet.evaluation.counts import Counts, sum_counts
from formnet.evaluation.entities import entity_counts, gold_spans, spans_of


@dataclass
class FieldScore:
    """Counts over documents, by meaning and by exact string."""

    by_document: list[Counts]
    exact_by_document: list[Counts]

    def to_json(self) -> dict[str, Any]:
        """Give both scores as plain data."""
        return {
            **sum_counts(self.by_document).to_json(),
            "exact_string": sum_counts(self.exact_by_document).to_json(),
        }


def field_counts(
    documents: Sequence[Document], entities: Sequence[Sequence[Entity]], names: Sequence[str]
) -> FieldScore:
    """Score the best value found for each field; where nothing was keyed in, whole entities against those marked."""
    score = FieldScore([], [])
    ever = {name for document in documents for name in document.fields}
    for document, found in zip(documents, entities, strict=True):
        keyed = {name: value for name, value in document.fields.items() if name in names}
        # A value that others have, and this one has neither keyed in nor marked, is one that it lacks.
        lacking = ever - {entity.label for entity in document.entities} if document.fields else set[str]()
        fields = {*names} & {*keyed, *lacking}
        values = best_values(found, fields)
        others = {*names} - fields
        gold, said = (spans_of(one for one in of if one.label in others) for of in (document.entities, found))
        marked = entity_counts(gold, said)
        score.by_document.append(sum_counts([_count(keyed, values, same_value), marked]))
        score.exact_by_document.append(sum_counts([_count(keyed, values, _same_string), marked]))
    return score


def best_values(entities: Iterable[Entity], names: Collection[str]) -> dict[str, str]:
    """Take the likeliest entity of each field."""
    best: dict[str, Entity] = {}
    for entity in entities:
        if entity.label in names and (entity.score or 0) > (
            best[entity.label].score or 0 if entity.label in best else -1
        ):
            best[entity.label] = entity
    return {name: entity.text for name, entity in best.items()}


def right_entities(document: Document, found: Sequence[Entity], scheme: TagScheme) -> list[bool]:
    """Tell which entities found are right: they say what was keyed in, or, if nothing was, are among the labels."""
    gold = set(gold_spans(document, scheme))
    return [
        same_value(document.fields[entity.label], entity.text)
        if entity.label in document.fields
        else gold.issuperset(spans_of([entity]))
        for entity in found
    ]


def same_value(keyed: str, found: str) -> bool:
    """Tell whether two values say the same.

    >>> same_value("9.00", "RM 9.00"), same_value("2018-03-25", "25/03/2018"), same_value("9.00", "900")
    (True, True, False)
    """
    if (wanted := day(keyed)) and (read := day(found)):
        return bool(wanted & read)
    if amount(keyed) or amount(found):
        return bool((number(keyed) or frozenset()) & (number(found) or frozenset()))
    return not wanted and fold(keyed) == fold(found) != ""


def _same_string(keyed: str, found: str) -> bool:
    return keyed.strip() == found.strip()


def _count(keyed: Mapping[str, str], values: Mapping[str, str], same: Any) -> Counts:
    counts = Counts()
    for name, value in keyed.items():
        counts.by_type[name].gold += 1
        counts.by_type[name].right += name in values and same(value, values[name])
    for name in values:
        counts.by_type[name].found += 1
    return counts
