"""Exact-match entity scores: an entity is correct if its type and all of its words match the ground truth."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence

from formnet.document import Document, Entity
from formnet.document.tags import Span, TagScheme, contiguous_runs
from formnet.evaluation.counts import Counts


def entity_counts(gold: Iterable[Span], predicted: Iterable[Span], single_valued: Container[str] = ()) -> Counts:
    """Count the spans of one document, as seqeval's strict mode does.

    Types in `single_valued` have one value per document, which may be printed several times; predicting any
    occurrence is correct, and so is predicting several.

    >>> entity_counts([Span("date", 0, 2)], [Span("date", 0, 2), Span("total", 3, 4)]).micro.score.f1
    0.6666666666666666
    >>> gold = [Span("date", 0, 2), Span("date", 5, 7)]
    >>> [entity_counts(gold, found, single_valued={"date"}).micro.score.f1 for found in (gold, gold[1:])]
    [1.0, 1.0]
    """
    counts = Counts()
    gold_set, predicted_set = set(gold), set(predicted)
    for span in gold_set:
        counts.by_type[span.label].gold += 1
        counts.by_type[span.label].correct += span in predicted_set
    for span in predicted_set:
        counts.by_type[span.label].predicted += 1
    for label, tally in counts.by_type.items():
        if label in single_valued:
            repeated = max(tally.correct - 1, 0)
            tally.gold, tally.correct = min(tally.gold, 1), min(tally.correct, 1)
            tally.predicted -= repeated
    return counts


#: Kinds of missed entities, as they are named in results.
MISS_KINDS = {
    "unseen": "no predicted entity overlaps it",
    "mistyped": "an entity of another type was predicted with the same words",
    "misplaced": "a predicted entity overlaps it, with other boundaries",
}


def count_miss_kinds(missed: Iterable[Span], predicted: Iterable[Span]) -> Counter[str]:
    """Count the missed spans of one document by kind.

    >>> sorted(count_miss_kinds([Span("date", 0, 2), Span("total", 3, 4)], [Span("due", 0, 2)]).items())
    [('mistyped', 1), ('unseen', 1)]
    """
    predicted_set = set(predicted)
    boundaries = {(span.start, span.stop) for span in predicted_set}
    words = {word for span in predicted_set for word in range(span.start, span.stop)}
    kinds: Counter[str] = Counter()
    for span in missed:
        if (span.start, span.stop) in boundaries:
            kinds["mistyped"] += 1
        else:
            kinds["unseen" if words.isdisjoint(range(span.start, span.stop)) else "misplaced"] += 1
    return kinds


def word_counts(gold: Iterable[Span], predicted: Iterable[Span]) -> Counts:
    """Count words by the type of their entity, which makes scores comparable between reading orders."""
    return entity_counts(_single_words(gold), _single_words(predicted))


def gold_spans(document: Document, scheme: TagScheme) -> list[Span]:
    """Return the labeled entities of the scheme's types as contiguous spans in the document's reading order."""
    return entity_spans(entity for entity in document.entities if entity.label in scheme.entity_types)


def entity_spans(entities: Iterable[Entity]) -> list[Span]:
    """Return entities as spans; an entity whose words are not contiguous yields several."""
    return [run for entity in entities for run in contiguous_runs(entity)]


def _single_words(spans: Iterable[Span]) -> Sequence[Span]:
    return [Span(span.label, word, word + 1) for span in spans for word in range(span.start, span.stop)]
