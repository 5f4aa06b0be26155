"""What a person wants to know of a corpus before trusting it: its size, its faults, and where its values stand."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from formnet.datasets import Corpus
from formnet.datasets.alignment import align
from formnet.document import Document, Entity
from formnet.document.tags import runs_of
from formnet.errors import FormNetError


@dataclass
class Statistics:
    """Counts over one split of a corpus."""

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
        """Give the counts as plain data."""
        return asdict(self)


def statistics(corpus: Corpus, split: str) -> Statistics:
    """Count one split, a document at a time."""
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
            stats.scattered_entities += len(runs_of(entity)) > 1
        fields.update(list(document.fields))
        repairs.update(repair.kind for repair in document.repairs)
    stats.words, stats.entities = sum(lengths), labels.total()
    if lengths:
        low, middle, high = np.percentile(lengths, (0, 50, 100), method="nearest").tolist()
        stats.words_per_document = {"fewest": low, "median": middle, "most": high}
    stats.labels = dict(labels.most_common())
    stats.words_per_entity = {label: entity_words[label] / labels[label] for label in stats.labels}
    stats.fields, stats.repairs = dict(fields), dict(repairs.most_common())
    return stats


@dataclass(frozen=True)
class Finding:
    """One thing that validation found: a document refused, mended, or labeled in a way that tags cannot say."""

    document: str
    kind: str
    detail: str
    source: str
    refused: bool = False


def validate(corpus: Corpus, split: str) -> Iterator[Finding]:
    """Read every document of a split and tell of each fault; one that cannot be read does not stop the rest.

    Only a file that breaks off (an archive cut short) ends it, and says so.
    """
    sources = corpus.sources(split)
    seen: set[str] = set()
    while True:
        try:
            source = next(sources, None)
        except FormNetError as error:
            yield Finding("", "broken off", str(error), str(corpus.path), refused=True)
            return
        if source is None:
            return
        try:
            document = corpus.read(source)
        except FormNetError as error:
            yield Finding("", "refused", str(error), str(source), refused=True)
            continue
        if document.id in seen:
            detail = "every document of a split needs an id of its own"
            yield Finding(document.id, "id used twice", detail, str(source))
        seen.add(document.id)
        for repair in document.repairs:
            yield Finding(document.id, repair.kind, str(repair), str(source))
        for kind, detail in _label_faults(corpus, document):
            yield Finding(document.id, kind, detail, str(source))


def _label_faults(corpus: Corpus, document: Document) -> Iterator[tuple[str, str]]:
    known = {*corpus.entity_types, *corpus.untagged}
    owner: dict[int, Entity] = {}
    for entity in document.entities:
        if known and entity.label not in known:
            yield "unknown label", f"{entity!r}"
        for word in entity.words:
            if word in owner:
                yield "overlapping entities", f"word {word} is of {owner[word]!r} and {entity!r}"
                break
        owner.update(dict.fromkeys(entity.words, entity))


@dataclass
class FieldCoverage:
    """How many values of a field were found, and in which ways."""

    values: int = 0
    found: int = 0
    ways: Counter[str] = field(default_factory=Counter)

    def to_json(self) -> dict[str, Any]:
        """Give the counts and the share as plain data."""
        share = self.found / self.values if self.values else 0.0
        return {
            "values": self.values,
            "found": self.found,
            "share": share,
            "ways": dict(self.ways.most_common()),
        }


@dataclass(frozen=True)
class FieldHit:
    """A value and the words taken for it, with what stands around them."""

    document: str
    field: str
    value: str
    before: str
    text: str
    after: str
    how: str
    choice: str


@dataclass(frozen=True)
class FieldMiss:
    """A value that no words say, and the closest there are."""

    document: str
    field: str
    value: str
    closest: str


@dataclass
class AlignmentReport:
    """What alignment did over a split."""

    fields: dict[str, FieldCoverage] = field(default_factory=dict)
    hits: list[FieldHit] = field(default_factory=list)
    misses: list[FieldMiss] = field(default_factory=list)

    @property
    def overall(self) -> FieldCoverage:
        """All fields together."""
        ways = sum((coverage.ways for coverage in self.fields.values()), Counter[str]())
        return FieldCoverage(
            sum(c.values for c in self.fields.values()), sum(c.found for c in self.fields.values()), ways
        )

    def add(self, document: Document) -> Document:
        """Align one document, take note, and give it back with entities."""
        alignment = align(document)
        for name, value in document.fields.items():
            coverage = self.fields.setdefault(name, FieldCoverage())
            coverage.values += 1
            if name in alignment.misses:
                self.misses.append(FieldMiss(document.id, name, value, alignment.misses[name].closest))
                continue
            match = alignment.matches[name]
            coverage.found += 1
            coverage.ways[match.how.partition(",")[0]] += 1
            text = " ".join(document.texts[i] for i in match.words)
            before, after = _around(document, match.words)
            self.hits.append(FieldHit(document.id, name, value, before, text, after, match.how, match.choice))
        return alignment.document


def _around(document: Document, words: tuple[int, ...], reach: int = 5) -> tuple[str, str]:
    low, high = min(words), max(words)
    return " ".join(document.texts[max(low - reach, 0) : low]), " ".join(document.texts[high + 1 : high + 1 + reach])
