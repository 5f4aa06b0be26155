"""Comparison of links between entities."""

from collections.abc import Iterable, Sequence
from typing import Any

from formnet.document import Document, Entity
from formnet.evaluation.counts import Tally

Links = Sequence[tuple[int, int]]


class LinkScores:
    """Scores of links over documents.

    A link is found if its owner and its part start with the right words (the protocol of BROS, Hong et al., 2022). A
    part is attached correctly if following its owners leads to the same entity as in the labels.
    """

    def __init__(self) -> None:
        self.links = Tally()
        self.attached = self.parts = 0

    def add(self, gold: Document, entities: Sequence[Entity], links: Links) -> None:
        """Compare the links of one document, between entities that may be others than the labeled ones."""
        expected, found = _first_words(gold.entities, gold.links), _first_words(entities, links)
        self.links.add(Tally(len(expected), len(found), len(expected & found)))
        expected_roots, roots = _roots(gold.entities, gold.links), _roots(entities, links)
        self.attached += sum(roots.get(part) == root for part, root in expected_roots.items())
        self.parts += len(expected_roots)

    def to_json(self) -> dict[str, Any]:
        """Return precision, recall and F1 of links, and the share of parts that are attached correctly."""
        score = self.links.score
        return {
            "precision": score.precision,
            "recall": score.recall,
            "f1": score.f1,
            "gold": self.links.gold,
            "parts_attached": self.attached / self.parts if self.parts else 0.0,
        }


def score_links(results: Iterable[tuple[Document, Sequence[Entity], Links]]) -> dict[str, Any]:
    """Compare documents with predicted entities and links."""
    scores = LinkScores()
    for document, entities, links in results:
        scores.add(document, entities, links)
    return scores.to_json()


def _first_words(entities: Sequence[Entity], links: Links) -> set[tuple[int, int]]:
    return {(entities[owner].words[0], entities[part].words[0]) for owner, part in links}


def _roots(entities: Sequence[Entity], links: Links) -> dict[int, int]:
    """Return the first word of the entity that owns each part, directly or through others, by the part's first word."""
    owner_of: dict[int, int] = {}
    for owner, part in links:
        owner_of.setdefault(part, owner)
    roots = {}
    for part in owner_of:
        chain = [part]
        while chain[-1] in owner_of and owner_of[chain[-1]] not in chain:
            chain.append(owner_of[chain[-1]])
        roots[entities[part].words[0]] = entities[chain[-1]].words[0]
    return roots
