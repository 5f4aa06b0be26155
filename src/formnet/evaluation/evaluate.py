"""A trained network against a labeled corpus: one call, all figures."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from formnet.document import Document, Entity
from formnet.document.tags import Span, TagScheme
from formnet.evaluation.calibration import passing_share, reliability
from formnet.evaluation.counts import Counts, bootstrap, sum_counts
from formnet.evaluation.entities import LOSSES, entity_counts, gold_spans, losses, spans_of, word_counts
from formnet.evaluation.fields import field_counts, right_entities
from formnet.extraction.extractor import Extractor


@dataclass(frozen=True)
class DocumentResult:
    """A document with what was found in it and what should have been."""

    document: Document
    found: Sequence[Entity]
    gold: Sequence[Span]

    @property
    def counts(self) -> Counts:
        """Entities found and right; a value that was keyed in may be found in any of its places."""
        return entity_counts(self.gold, spans_of(self.found), once=self.document.fields)

    @property
    def missed(self) -> set[Span]:
        """Entities not found; of a value that was keyed in, its first place, if it was found in none."""
        gold, found = set(self.gold), set(spans_of(self.found))
        first: dict[str, Span] = {}
        for span in sorted(gold, key=lambda span: span.start):
            first.setdefault(span.label, span)
        known = {span.label for span in gold & found}
        return {
            span
            for span in gold - found
            if span.label not in self.document.fields or (span == first[span.label] and span.label not in known)
        }


class Judgment(NamedTuple):
    """Documents judged, and the types that they were judged by."""

    documents: list[DocumentResult]
    scheme: TagScheme


def judge(extractor: Extractor, documents: Sequence[Document], head: str | None = None) -> Judgment:
    """Extract and set beside the labels, by the head named or else by the one that knows the labels."""
    if head is None:
        head = extractor.head_for({entity.label for document in documents for entity in document.entities})
    scheme = extractor.heads[head]
    found = extractor.entities(documents, head)
    judged = [
        DocumentResult(document, entities, gold_spans(document, scheme))
        for document, entities in zip(documents, found, strict=True)
    ]
    return Judgment(judged, scheme)


def unknown_labels(judged: Sequence[DocumentResult], known: Collection[str]) -> dict[str, int]:
    """Count what documents are labeled with that the head which was asked does not know: no score tells of it."""
    labels = Counter(
        label
        for one in judged
        for label in {*one.document.fields, *(entity.label for entity in one.document.entities)}
        if label not in known
    )
    return dict(labels.most_common())


def report(judged: Sequence[DocumentResult], scheme: TagScheme) -> dict[str, Any]:
    """Give every figure of one reading: entities, words, calibration, and fields where values were keyed in."""
    counts = [one.counts for one in judged]
    scores = [entity.score or 0.0 for one in judged for entity in one.found]
    right = [is_right for one in judged for is_right in right_entities(one.document, one.found, scheme)]
    threshold, share = passing_share(scores, right)
    lost = sum((losses(one.missed, spans_of(one.found)) for one in judged), Counter[str]())
    result = {
        "documents": len(judged),
        "entities": {
            **sum_counts(counts).to_json(),
            "interval": bootstrap(counts),
            "lost": {kind: lost[kind] for kind in LOSSES},
        },
        "words": sum_counts(word_counts(one.gold, spans_of(one.found)) for one in judged).to_json(),
        "calibration": {
            **reliability(scores, right).to_json(),
            "at_99_percent_precision": {"threshold": threshold, "share": share},
        },
    }
    if any(one.document.fields for one in judged):
        found = [one.found for one in judged]
        fields = field_counts([one.document for one in judged], found, scheme.entity_types)
        result["fields"] = {**fields.to_json(), "interval": bootstrap(fields.by_document)}
    return result
