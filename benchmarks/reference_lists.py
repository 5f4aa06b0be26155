"""What a reference list of known values adds to extraction, and how often it matches a value that is not in it."""

from collections.abc import Sequence
from typing import Any

from formnet.document import Document
from formnet.document.values.match import values_match
from formnet.evaluation.calibration import proportion
from formnet.evaluation.fields import best_values
from formnet.extraction.extractor import Extractor
from formnet.extraction.references import MIN_SIMILARITY, ReferenceList


def benchmark(
    extractor: Extractor, known: Sequence[Document], documents: Sequence[Document], field: str
) -> dict[str, Any]:
    """Match extracted values of a field with those of known documents, whose values form the list."""
    names = list(dict.fromkeys(document.fields[field] for document in known if field in document.fields))
    reference = ReferenceList([field], [[name] for name in names])
    documents = [document for document in documents if field in document.fields]
    found = extractor.entities(documents, extractor.head_for([field]))
    listed, other = _Counts(), _Counts()
    for document, entities in zip(documents, found, strict=True):
        value = document.fields[field]
        counts = listed if any(values_match(value, name) for name in names) else other
        counts.add(value, best_values(entities, [field]).get(field), reference)
    return {
        "field": field,
        "entries": len(names),
        "min_similarity": MIN_SIMILARITY,
        "listed": listed.to_json(),
        "not_listed": other.to_json(),
    }


class _Counts:
    """Documents whose value is in the list, or is not."""

    def __init__(self) -> None:
        self.documents = self.correct = self.matched = self.matched_correctly = self.correct_with_list = 0
        self.wrong_matches: list[dict[str, Any]] = []

    def add(self, value: str, extracted: str | None, reference: ReferenceList) -> None:
        """Count one document; with the list, its entry counts instead of the extracted value."""
        match = None if extracted is None else reference.match(extracted)
        is_correct = extracted is not None and values_match(value, extracted)
        self.documents += 1
        self.correct += is_correct
        if match is None:
            self.correct_with_list += is_correct
            return
        entry = match.entry[reference.path]
        self.matched += 1
        self.matched_correctly += values_match(value, entry)
        self.correct_with_list += values_match(value, entry)
        if not values_match(value, entry):
            self.wrong_matches.append({"value": value, "extracted": extracted, "entry": entry, "score": match.score})

    def to_json(self) -> dict[str, Any]:
        """Return counts and shares with exact intervals."""
        counts = {
            "correct": self.correct,
            "correct_with_list": self.correct_with_list,
            "matched": self.matched,
            "matched_wrongly": self.matched - self.matched_correctly,
        }
        shares = {key: proportion(count, self.documents) for key, count in counts.items()}
        return {**shares, "wrong_matches": self.wrong_matches}
