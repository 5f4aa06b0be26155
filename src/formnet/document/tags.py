"""BIOES tags: valid transitions, and conversion between spans and tags.

A tag marks a word as Begin, Inside or End of an entity, as a Single-word entity, or as Outside of any entity.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document, Entity
from formnet.errors import LabelError

OUTSIDE = 0
#: Order of the four tags of each entity type; the Begin tag of type t is 1 + 4·t.
PREFIXES = "BIES"
_B, _I, _E, _S = range(4)


class Span(NamedTuple):
    """An entity over the contiguous words from `start` to `stop`, exclusive."""

    label: str
    start: int
    stop: int


@dataclass(frozen=True)
class TagScheme:
    """Mapping between entity types and tag IDs: O is 0, followed by B, I, E and S of each type.

    >>> scheme = TagScheme(("total",))
    >>> scheme.names
    ('O', 'B-total', 'I-total', 'E-total', 'S-total')
    >>> scheme.tags([Span("total", 1, 3)], 4).tolist()
    [0, 1, 3, 0]
    """

    entity_types: tuple[str, ...]
    untagged: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if len(set(self.entity_types)) < len(self.entity_types) or "" in self.entity_types:
            raise LabelError(f"entity types must be distinct and non-empty, got {', '.join(self.entity_types)!r}.")

    def __len__(self) -> int:
        return 1 + len(PREFIXES) * len(self.entity_types)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Tag names by ID."""
        return ("O", *(f"{prefix}-{label}" for label in self.entity_types for prefix in PREFIXES))

    @cached_property
    def _type_ids(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.entity_types)}

    @cached_property
    def transitions(self) -> NDArray[np.bool_]:
        """Mask of valid transitions, from row to column: [T, T]."""
        prefix, type_id = self._prefixes_and_types
        opens = np.isin(prefix, (_B, _S)) | (prefix < 0)  # tags that may follow the end of an entity
        closes = np.isin(prefix, (_E, _S)) | (prefix < 0)
        continues = np.isin(prefix, (_I, _E))
        same_type = type_id[:, None] == type_id[None, :]
        return np.where(closes[:, None], opens[None, :], continues[None, :] & same_type)

    def unknown_types(self, document: Document) -> NDArray[np.bool_] | None:
        """Return a mask of the entity types that were not annotated in a document [K], or None if all were."""
        if document.annotated is None:
            return None
        return np.array([label not in document.annotated for label in self.entity_types], np.bool_)

    @cached_property
    def starts(self) -> NDArray[np.bool_]:
        """Mask of tags valid for the first word: [T]."""
        return np.array(self.transitions[OUTSIDE])

    @cached_property
    def ends(self) -> NDArray[np.bool_]:
        """Mask of tags valid for the last word: [T]."""
        return np.array(self.transitions[:, OUTSIDE])

    @cached_property
    def _prefixes_and_types(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Index into `PREFIXES` and entity type ID of each tag, both −1 for O: [T], [T]."""
        index = np.arange(len(self)) - 1
        return np.where(index < 0, -1, index % 4), np.where(index < 0, -1, index // 4)

    def is_legal(self, tags: NDArray[np.integer]) -> bool:
        """Return whether every entity in the tag sequence is complete."""
        if len(tags) == 0:
            return True
        return bool(self.starts[tags[0]] and self.ends[tags[-1]] and self.transitions[tags[:-1], tags[1:]].all())

    def tags(self, spans: Iterable[Span], length: int) -> NDArray[np.int64]:
        """Convert spans to BIOES tags: [length]."""
        tags = np.zeros(length, np.int64)
        for span in spans:
            if span.label not in self._type_ids:
                raise LabelError(f"{span.label!r} is not among the entity types {', '.join(self.entity_types)}.")
            if not 0 <= span.start < span.stop <= length:
                raise LabelError(f"{span} is not within {length} words.")
            if tags[span.start : span.stop].any():
                raise LabelError(f"{span} overlaps another span. Each word can have only one tag.")
            first = 1 + 4 * self._type_ids[span.label]
            tags[span.start : span.stop] = first + _I
            tags[span.start], tags[span.stop - 1] = first + _B, first + _E
            if span.stop - span.start == 1:
                tags[span.start] = first + _S
        return tags

    def spans(self, tags: NDArray[np.integer]) -> list[Span]:
        """Convert BIOES tags to spans, in order."""
        if not self.is_legal(tags):
            raise LabelError("the tags contain an incomplete entity or one of mixed types; decode with constraints.")
        prefix, type_id = self._prefixes_and_types
        first = np.flatnonzero(np.isin(prefix[tags], (_B, _S)))
        last = np.flatnonzero(np.isin(prefix[tags], (_E, _S)))
        types = type_id[tags[first]]
        return [
            Span(self.entity_types[entity_type], start, end + 1)
            for entity_type, start, end in zip(types.tolist(), first.tolist(), last.tolist(), strict=True)
        ]

    def document_tags(self, document: Document) -> NDArray[np.int64]:
        """Return the BIOES tags of a labeled document: [N].

        An entity whose words are not contiguous in reading order is tagged as several entities, one per run of words.
        """
        known_labels = {*self.entity_types, *self.untagged}
        for entity in document.entities:
            if entity.label not in known_labels:
                raise LabelError(
                    f"document {document.id!r}: the label of {entity!r} is not among the entity types "
                    f"{', '.join(self.entity_types)}."
                )
        labeled = (entity for entity in document.entities if entity.label in self._type_ids)
        runs = (run for entity in labeled for run in contiguous_runs(entity))
        try:
            return self.tags(runs, document.num_words)
        except LabelError as error:
            raise LabelError(f"document {document.id!r}: {error}") from error

    @classmethod
    def from_documents(cls, documents: Iterable[Document]) -> "TagScheme":
        """Build a scheme from the labels in documents, in alphabetical order."""
        return cls(tuple(sorted({entity.label for document in documents for entity in document.entities})))


def contiguous_runs(entity: Entity) -> list[Span]:
    """Split an entity into spans of contiguous words."""
    return [Span(entity.label, run[0], run[-1] + 1) for run in _split_runs(sorted(entity.words))]


def _split_runs(indices: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for index in indices:
        if runs and index == runs[-1][-1] + 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs
