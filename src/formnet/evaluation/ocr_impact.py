"""Field scores with the words of OCR engines, and the causes of lost values: OCR errors, reading order or the model."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from formnet.datasets.alignment import align
from formnet.document import Document, Entity
from formnet.document.values.match import is_attainable, values_match, values_nearly_match
from formnet.evaluation.counts import bootstrap_interval, sum_counts
from formnet.evaluation.fields import best_values, count_values, field_counts
from formnet.extraction.extractor import Extractor

#: Causes of a lost value, as they are named in results.
LOSS_CAUSES = {
    "misread": "the OCR output does not contain the value",
    "scattered": "the OCR output contains the words of the value, but not in consecutive order",
    "network": "the model also misses the value with the words of the corpus",
    "unexplained": "the OCR output contains the value, and the model finds it with the words of the corpus",
}


class OcrEvaluation:
    """Compares the fields that are found with an OCR engine's words with those found with the words of the corpus."""

    def __init__(self, extractor: Extractor, documents: Sequence[Document], head: str) -> None:
        self.extractor, self.documents, self.head = extractor, documents, head
        annotated = next((document.annotated for document in documents), None)
        self.names = [name for name in extractor.heads[head].entity_types if annotated is None or name in annotated]
        self.entities = extractor.entities(documents, head)
        self.values = [best_values(entities, self.names) for entities in self.entities]

    def score_corpus_words(self) -> dict[str, Any]:
        """Score the fields that are found with the words of the corpus."""
        return self._score(self.documents, self.entities)

    def score(self, recognized: Sequence[Document]) -> dict[str, Any]:
        """Score the fields that are found in the documents as an engine read them.

        `oracle` is the best that any extractor could do with these words: all values that some consecutive words match.
        """
        entities = self.extractor.entities(recognized, self.head)
        values = [best_values(predicted, self.names) for predicted in entities]
        gold = [{name: d.fields[name] for name in self.names if name in d.fields} for d in recognized]
        nearly = [count_values(g, v, values_nearly_match) for g, v in zip(gold, values, strict=True)]
        readable = [
            {name: value for name, value in fields.items() if is_attainable(document, value)}
            for document, fields in zip(recognized, gold, strict=True)
        ]
        oracle = [count_values(g, r, values_match) for g, r in zip(gold, readable, strict=True)]
        causes = Counter(
            _loss_cause(document, name, value, reference)
            for document, fields, found, reference in zip(recognized, gold, values, self.values, strict=True)
            for name, value in fields.items()
            if not (name in found and values_match(value, found[name]))
        )
        return {
            **self._score(recognized, entities),
            "within_one_character": sum_counts(nearly).to_json(),
            "oracle": sum_counts(oracle).to_json(),
            "lost": {cause: causes[cause] for cause in LOSS_CAUSES},
        }

    def _score(self, documents: Sequence[Document], entities: Sequence[Sequence[Entity]]) -> dict[str, Any]:
        counts = field_counts(documents, entities, self.names)
        return {**counts.to_json(), "interval": bootstrap_interval(counts.by_document)}


def _loss_cause(document: Document, name: str, value: str, reference: Mapping[str, str]) -> str:
    """Return why a value was lost; `reference` holds the values found with the words of the corpus."""
    single_field = replace(document, fields={name: value}, entities=())
    match = align(single_field).matches.get(name)
    if match is None or not values_match(value, " ".join(document.texts[i] for i in match.words)):
        return "misread"
    words = sorted(match.words)
    if words[-1] - words[0] + 1 != len(words):
        return "scattered"
    return "unexplained" if name in reference and values_match(value, reference[name]) else "network"
