"""Entity types, BIOES tags, legal transitions, spans ↔ tags.

A tag says of a word: Begin, Inside or End of an entity of some type, a Single-word one, or Outside of all.
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
#: A type's four tags follow each other in this order; type t's Begin is 1 + 4·t.
PREFIXES = "BIES"
_B, _I, _E, _S = range(4)


class Span(NamedTuple):
    """An entity over neighboring words, from `start` up to but not with `stop`."""

    label: str
    start: int
    stop: int


@dataclass(frozen=True)
class TagScheme:
    """The tags of some entity types, numbered: O is 0, then B, I, E, S of each type.

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
            raise LabelError(f"entity types must be distinct and not empty: {', '.join(self.entity_types)!r}.")

    def __len__(self) -> int:
        return 1 + len(PREFIXES) * len(self.entity_types)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The tags as people write them, by number."""
        return ("O", *(f"{prefix}-{label}" for label in self.entity_types for prefix in PREFIXES))

    @cached_property
    def _number(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.entity_types)}

    @cached_property
    def transitions(self) -> NDArray[np.bool_]:
        """Which tag (column) may follow which (row): [T, T]."""
        role, of_type = self._roles
        opens = np.isin(role, (_B, _S)) | (role < 0)  # what may follow an entity's end
        closed = np.isin(role, (_E, _S)) | (role < 0)
        goes_on = np.isin(role, (_I, _E))
        same_type = of_type[:, None] == of_type[None, :]
        return np.where(closed[:, None], opens[None, :], goes_on[None, :] & same_type)

    @cached_property
    def starts(self) -> NDArray[np.bool_]:
        """Which tags the first word may have: [T]."""
        return np.array(self.transitions[OUTSIDE])

    @cached_property
    def ends(self) -> NDArray[np.bool_]:
        """Which tags the last word may have: [T]."""
        return np.array(self.transitions[:, OUTSIDE])

    @cached_property
    def _roles(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Each tag's place among B, I, E, S (−1 for O) and its type (−1 for O): [T], [T]."""
        number = np.arange(len(self)) - 1
        return np.where(number < 0, -1, number % 4), np.where(number < 0, -1, number // 4)

    def is_legal(self, tags: NDArray[np.integer]) -> bool:
        """Tell whether the tags say a set of whole entities."""
        if len(tags) == 0:
            return True
        return bool(self.starts[tags[0]] and self.ends[tags[-1]] and self.transitions[tags[:-1], tags[1:]].all())

    def tags(self, spans: Iterable[Span], length: int) -> NDArray[np.int64]:
        """Give the tags that say these spans: [length]."""
        tags = np.zeros(length, np.int64)
        for span in spans:
            if span.label not in self._number:
                raise LabelError(f"{span.label!r} is not among the entity types {', '.join(self.entity_types)}.")
            if not 0 <= span.start < span.stop <= length:
                raise LabelError(f"{span} does not lie within {length} words.")
            if tags[span.start : span.stop].any():
                raise LabelError(f"{span} overlaps another span; a word has one tag.")
            first = 1 + 4 * self._number[span.label]
            tags[span.start : span.stop] = first + _I
            tags[span.start], tags[span.stop - 1] = first + _B, first + _E
            if span.stop - span.start == 1:
                tags[span.start] = first + _S
        return tags

    def spans(self, tags: NDArray[np.integer]) -> list[Span]:
        """Give the spans that legal tags say, in order."""
        if not self.is_legal(tags):
            raise LabelError("these tags leave an entity open or change its type inside; decode with constraints.")
        role, of_type = self._roles
        opening = np.flatnonzero(np.isin(role[tags], (_B, _S)))
        closing = np.flatnonzero(np.isin(role[tags], (_E, _S)))
        types = of_type[tags[opening]]
        return [
            Span(self.entity_types[kind], start, stop + 1)
            for kind, start, stop in zip(types.tolist(), opening.tolist(), closing.tolist(), strict=True)
        ]

    def document_tags(self, document: Document) -> NDArray[np.int64]:
        """Give the tags of a labeled document's words: [N].

        An entity whose words do not follow each other in this reading order is tagged a run at a time.
        """
        known = {*self.entity_types, *self.untagged}
        for entity in document.entities:
            if entity.label not in known:
                raise LabelError(f"document {document.id!r}: {entity!r} is not among {', '.join(self.entity_types)}.")
        runs = (run for entity in document.entities if entity.label in self._number for run in runs_of(entity))
        try:
            return self.tags(runs, document.num_words)
        except LabelError as error:
            raise LabelError(f"document {document.id!r}: {error}") from error

    @classmethod
    def of(cls, documents: Iterable[Document]) -> "TagScheme":
        """Take the entity types that documents have, in alphabetical order."""
        return cls(tuple(sorted({entity.label for document in documents for entity in document.entities})))


def runs_of(entity: Entity) -> list[Span]:
    """Split an entity into spans of words that follow each other; a whole one gives itself."""
    return [Span(entity.label, run[0], run[-1] + 1) for run in _runs(sorted(entity.words))]


def _runs(numbers: Sequence[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs
