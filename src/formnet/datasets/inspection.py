"""Corpus inspection: statistics, validation findings and alignment coverage."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from formnet.datasets import Corpus
from formnet.datasets.alignment import align
from formnet.document import Document, Entity
from formnet.document.tags import contiguous_runs
from formnet.document.values.match import is_attainable
from formnet.errors import FormNetError

#: Words shown on either side of a match.
CONTEXT_WORDS = 5


@dataclass
class Statistics:
    """Counts for one split of a corpus."""

    documents: int = 0
    pages: int = 0
    words: int = 0
    words_per_document: dict[str, int] = field(default_factory=dict)
    entities: int = 0
    links: int = 0
    scattered_entities: int = 0
    labels: dict[str, int] = field(default_factory=dict)
    words_per_entity: dict[str, float] = field(default_factory=dict)
    fields: dict[str, int] = field(default_factory=dict)
    repairs: dict[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the counts as JSON-compatible data."""
        return asdict(self)


def statistics(corpus: Corpus, split: str) -> Statistics:
    """Compute the statistics of one split."""
    stats = Statistics()
    labels, entity_words, fields, repairs = Counter[str](), Counter[str](), Counter[str](), Counter[str]()
    lengths = []
    for source in corpus.sources(split):
        document = corpus.read(source)
        stats.documents += 1
        stats.pages += len(document.pages)
        stats.links += len(document.links)
        lengths.append(document.num_words)
        for entity in document.entities:
            labels[entity.label] += 1
            entity_words[entity.label] += len(entity.words)
            stats.scattered_entities += len(contiguous_runs(entity)) > 1
        fields.update(list(document.fields))
        repairs.update(repair.kind for repair in document.repairs)
    stats.words, stats.entities = sum(lengths), labels.total()
    if lengths:
        minimum, median, maximum = np.percentile(lengths, (0, 50, 100), method="nearest").tolist()
        stats.words_per_document = {"fewest": minimum, "median": median, "most": maximum}
    stats.labels = dict(labels.most_common())
    stats.words_per_entity = {label: entity_words[label] / labels[label] for label in stats.labels}
    stats.fields, stats.repairs = dict(fields), dict(repairs.most_common())
    return stats


@dataclass(frozen=True)
class Finding:
    """A validation finding: a rejected document, a repair, or labels that tags cannot represent."""

    document: str
    kind: str
    detail: str
    source: str
    refused: bool = False


def validate(corpus: Corpus, split: str) -> Iterator[Finding]:
    """Read every document of a split and yield its problems; unreadable documents are reported and skipped.

    Validation stops early only if the sources cannot be listed further, as in a truncated archive.
    """
    sources = corpus.sources(split)
    ids: set[str] = set()
    while True:
        try:
            source = next(sources, None)
        except FormNetError as error:
            yield Finding("", "truncated", str(error), str(corpus.path), refused=True)
            return
        if source is None:
            return
        try:
            document = corpus.read(source)
        except FormNetError as error:
            yield Finding("", "refused", str(error), str(source), refused=True)
            continue
        if document.id in ids:
            detail = "document ids must be unique within a split"
            yield Finding(document.id, "duplicate id", detail, str(source))
        ids.add(document.id)
        for repair in document.repairs:
            yield Finding(document.id, repair.kind, str(repair), str(source))
        for kind, detail in _label_problems(corpus, document):
            yield Finding(document.id, kind, detail, str(source))


def _label_problems(corpus: Corpus, document: Document) -> Iterator[tuple[str, str]]:
    expected_labels = {*corpus.entity_types, *corpus.untagged}
    owner: dict[int, Entity] = {}
    for entity in document.entities:
        if expected_labels and entity.label not in expected_labels:
            yield "unknown label", f"{entity!r}"
        for word in entity.words:
            if word in owner:
                yield "overlapping entities", f"word {word} is in {owner[word]!r} and {entity!r}"
                break
        owner.update(dict.fromkeys(entity.words, entity))


@dataclass
class FieldCoverage:
    """Number of values of a field, number found, number that words of the document match, and counts by method."""

    values: int = 0
    found: int = 0
    attainable: int = 0
    ways: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """Return the counts and the share found as JSON-compatible data."""
        share = self.found / self.values if self.values else 0.0
        return {
            "values": self.values,
            "found": self.found,
            "share": share,
            "attainable": self.attainable,
            "ways": dict(self.ways.most_common()),
        }


@dataclass(frozen=True)
class FieldHit:
    """A value that was found, with the matched text and its context."""

    document: str
    field: str
    value: str
    before: str
    text: str
    after: str
    method: str
    reason: str


@dataclass(frozen=True)
class FieldMiss:
    """A value that was not found, with the closest text."""

    document: str
    field: str
    value: str
    closest: str


@dataclass
class AlignmentReport:
    """Alignment results for a split."""

    fields: dict[str, FieldCoverage] = field(default_factory=dict)
    hits: list[FieldHit] = field(default_factory=list)
    misses: list[FieldMiss] = field(default_factory=list)

    @property
    def overall(self) -> FieldCoverage:
        """Coverage of all fields combined."""
        ways = sum((coverage.ways for coverage in self.fields.values()), Counter[str]())
        fields = self.fields.values()
        return FieldCoverage(
            sum(c.values for c in fields), sum(c.found for c in fields), sum(c.attainable for c in fields), ways
        )

    def add(self, document: Document) -> Document:
        """Align one document, record the results, and return it with entities."""
        alignment = align(document)
        for name, value in document.fields.items():
            coverage = self.fields.setdefault(name, FieldCoverage())
            coverage.values += 1
            coverage.attainable += is_attainable(document, value)
            if name in alignment.misses:
                self.misses.append(FieldMiss(document.id, name, value, alignment.misses[name].closest))
                continue
            match = alignment.matches[name]
            coverage.found += 1
            coverage.ways[match.method.partition(",")[0]] += 1
            text = " ".join(document.texts[i] for i in match.words)
            before, after = _context(document, match.words)
            self.hits.append(FieldHit(document.id, name, value, before, text, after, match.method, match.reason))
        return alignment.document


def _context(document: Document, words: tuple[int, ...]) -> tuple[str, str]:
    """Return the text of a few words before and after a match."""
    first, stop = min(words), max(words) + 1
    before = document.texts[max(first - CONTEXT_WORDS, 0) : first]
    return " ".join(before), " ".join(document.texts[stop : stop + CONTEXT_WORDS])
