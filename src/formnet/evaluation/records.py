"""Structured output against known values: header fields by path, and complete line items.

Values match if they are the same date, amount or time, or have the same letters and digits. Output is compared by its
typed values, so that a date in the wrong order of day and month is wrong.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from formnet.document import Document
from formnet.document.values.match import values_match
from formnet.document.values.normalize import normalize_as, without_number_sign
from formnet.evaluation.calibration import reliability
from formnet.evaluation.counts import Counts, Tally, bootstrap_interval, sum_counts
from formnet.evaluation.fields import count_values
from formnet.extraction.fields import FieldOutput, Fields, to_fields
from formnet.extraction.schema import Schema

_TIME = re.compile(r"\d{1,2}:\d\d(:\d\d)?\s*([ap]\.?m\.?)?", re.IGNORECASE)


@dataclass(frozen=True)
class Record:
    """Values of a document: header fields by path, and line items by name."""

    fields: Mapping[str, str]
    items: Sequence[Mapping[str, str]] = ()
    scores: Mapping[str, float] = field(default_factory=dict)  # of extracted header fields


def match_values(gold: str, predicted: str) -> bool:
    """Return whether values match; times need not have seconds, and numbers no sign, as in No. 5620."""
    if not _TIME.fullmatch(gold):
        return values_match(without_number_sign(gold), without_number_sign(predicted))
    right, found = (normalize_as(text, "time") for text in (gold, predicted))
    return right is not None and found is not None and right.value[:5] == found.value[:5]


def output_record(fields: Fields, paths: Iterable[str], item_names: Iterable[str] = ()) -> Record:
    """Return the values at paths such as `merchant.name` in structured output, and those of its items."""
    paths = list(paths)
    record = _make_record(fields, paths, item_names, _format_value)
    found = {path: _field_at(fields, path) for path in record.fields}
    scores = {path: part.score for path, part in found.items() if part is not None and part.score is not None}
    return replace(record, scores=scores)


def labeled_record(document: Document, schema: Schema, paths: Iterable[str], item_names: Iterable[str] = ()) -> Record:
    """Return the texts of a labeled document's values, as its schema arranges them."""
    return _make_record(to_fields(document, schema)[0], paths, item_names, lambda field: field.text)


def _make_record(
    fields: Fields, paths: Iterable[str], item_names: Iterable[str], to_text: Callable[[FieldOutput], str | None]
) -> Record:
    def find(part: Fields, names: Iterable[str]) -> dict[str, str]:
        found = ((name, _field_at(part, name)) for name in names)
        return {name: text for name, field in found if field is not None and (text := to_text(field)) is not None}

    names = list(item_names)
    items = [find(item, names) for item in fields.get("line_items", ())]
    return Record(find(fields, paths), [item for item in items if item])


def _field_at(fields: Fields, path: str) -> FieldOutput | None:
    part: Any = fields
    for key in path.split("."):
        part = part.get(key) if isinstance(part, Mapping) else None
    return part if isinstance(part, FieldOutput) else None


def _format_value(field: FieldOutput) -> str | None:
    """Format a value: amounts with cents, dates and times in ISO 8601; None if it could not be read."""
    value = field.value
    if isinstance(value, float):
        return f"{value:.2f}" if value == round(value, 2) else str(value)
    return None if value is None else str(value)


def score_records(gold: Sequence[Record], predicted: Sequence[Record]) -> dict[str, Any]:
    """Compute F1 of header fields, by path and over all, their calibration error, and F1 of complete items."""
    counts = [count_values(g.fields, p.fields, match_values) for g, p in zip(gold, predicted, strict=True)]
    items = [count_items(g.items, p.items) for g, p in zip(gold, predicted, strict=True)]
    result = {"documents": len(gold), **sum_counts(counts).to_json(), "interval": bootstrap_interval(counts)}
    scored = [
        (score, name in g.fields and match_values(g.fields[name], p.fields[name]))
        for g, p in zip(gold, predicted, strict=True)
        for name, score in p.scores.items()
    ]
    if scored:
        result["calibration_error"] = reliability(*zip(*scored, strict=True)).ece
    if any(g.items for g in gold):
        result["items"] = {**sum_counts(items).to_json()["per_type"]["item"], "interval": bootstrap_interval(items)}
    return result


def count_items(gold: Sequence[Mapping[str, str]], predicted: Sequence[Mapping[str, str]]) -> Counts:
    """Count the items of one document; an item is right if it has the values of a gold item and no others."""
    free = list(gold)
    correct = 0
    for item in predicted:
        match = next((other for other in free if _same_item(other, item)), None)
        if match is not None:
            free.remove(match)
            correct += 1
    counts = Counts()
    counts.by_type["item"] = Tally(len(gold), len(predicted), correct)
    return counts


def _same_item(gold: Mapping[str, str], predicted: Mapping[str, str]) -> bool:
    return gold.keys() == predicted.keys() and all(match_values(gold[name], predicted[name]) for name in gold)
