"""Entities found against entities there are: right if the type and every word are."""

from collections import Counter
from collections.abc import Container, Iterable, Sequence

from formnet.document import Document, Entity
from formnet.document.tags import Span, TagScheme, runs_of
from formnet.evaluation.counts import Counts


def entity_counts(gold: Iterable[Span], found: Iterable[Span], once: Container[str] = ()) -> Counts:
    """Count spans of one document: what seqeval calls strict.

    What it has `once` may stand in several places, and any of them is right.

    >>> entity_counts([Span("date", 0, 2)], [Span("date", 0, 2), Span("total", 3, 4)]).micro.score.f1
    0.6666666666666666
    >>> entity_counts([Span("date", 0, 2), Span("date", 5, 7)], [Span("date", 5, 7)], once={"date"}).micro.score.f1
    1.0
    """
    counts = Counts()
    true, said = set(gold), set(found)
    for span in true:
        counts.by_type[span.label].gold += 1
        counts.by_type[span.label].right += span in said
    for span in said:
        counts.by_type[span.label].found += 1
    for label, of_type in counts.by_type.items():
        if label in once:
            of_type.gold, of_type.right = min(of_type.gold, 1), min(of_type.right, 1)
    return counts


#: What becomes of an entity that is not found as it is.
LOSSES = {
    "unseen": "none of its words is in an entity that was found",
    "mistyped": "all of its words were found, and no others, as another type",
    "misplaced": "some of its words were found, or others with them",
}


def losses(missed: Iterable[Span], found: Iterable[Span]) -> Counter[str]:
    """Count what became of the spans of one document that were not found as they are.

    >>> sorted(losses([Span("date", 0, 2), Span("total", 3, 4)], [Span("due", 0, 2)]).items())
    [('mistyped', 1), ('unseen', 1)]
    """
    said = set(found)
    places = {(span.start, span.stop) for span in said}
    words = {word for span in said for word in range(span.start, span.stop)}
    lost: Counter[str] = Counter()
    for span in missed:
        if (span.start, span.stop) in places:
            lost["mistyped"] += 1
        else:
            lost["unseen" if words.isdisjoint(range(span.start, span.stop)) else "misplaced"] += 1
    return lost


def word_counts(gold: Iterable[Span], found: Iterable[Span]) -> Counts:
    """Count words by the type of the entity they are in, whatever its ends: comparable between reading orders."""
    return entity_counts(_words(gold), _words(found))


def gold_spans(document: Document, scheme: TagScheme) -> list[Span]:
    """Give a labeled document's entities as the spans that tags can say in its reading order."""
    return spans_of(entity for entity in document.entities if entity.label in scheme.entity_types)


def spans_of(entities: Iterable[Entity]) -> list[Span]:
    """Give entities as spans; one whose words are scattered gives several."""
    return [run for entity in entities for run in runs_of(entity)]


def _words(spans: Iterable[Span]) -> Sequence[Span]:
    return [Span(span.label, word, word + 1) for span in spans for word in range(span.start, span.stop)]
