"""What extraction finds in a document. This module does not import torch."""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document, DocumentType, Entity


class Annotations(NamedTuple):
    """Entities in reading order, links between them as numbers of owner and part, and the type of the document."""

    entities: list[Entity]
    links: list[tuple[int, int]]
    type: DocumentType | None = None

    def add_links(self, links: Iterable[tuple[int, int, float]]) -> "Annotations":
        """Add links with their scores, which are stored with the parts."""
        entities, pairs = list(self.entities), list(self.links)
        for owner, part, score in links:
            entities[part] = replace(entities[part], link_score=score)
            pairs.append((owner, part))
        return self._replace(entities=entities, links=pairs)

    def renumber_words(self, numbers: NDArray[np.intp]) -> "Annotations":
        """Return the annotations with other numbers of words, as of a document in another reading order."""
        return self._replace(entities=[entity.renumber_words(numbers) for entity in self.entities])

    def drop_below(self, score: float) -> "Annotations":
        """Drop entities with a lower score, and their links."""
        return self._keep(number for number, entity in enumerate(self.entities) if (entity.score or 0) >= score)

    def keep_labels(self, labels: Collection[str]) -> "Annotations":
        """Keep only entities with one of these labels, and the links between them."""
        return self._keep(number for number, entity in enumerate(self.entities) if entity.label in labels)

    def _keep(self, numbers: Iterable[int]) -> "Annotations":
        kept = list(numbers)
        new_number = {number: new for new, number in enumerate(kept)}
        links = [(new_number[a], new_number[b]) for a, b in self.links if a in new_number and b in new_number]
        return self._replace(entities=[self.entities[number] for number in kept], links=links)

    def apply_to(self, document: Document) -> Document:
        """Return the document with these annotations instead of its own."""
        return replace(document, entities=tuple(self.entities), links=tuple(self.links), type=self.type)
