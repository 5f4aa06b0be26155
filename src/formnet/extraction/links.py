"""Scores to structure: captions of entities, and links between them, which form a forest.

Shapes: B documents, W words, T tags, P size of the link head, C document types.
"""

from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from formnet.document import Document, Entity
from formnet.encoding import StructureScheme
from formnet.encoding.links import link_candidates
from formnet.modeling.links import LinkHead, Pairs

Scores = NDArray[np.float32]


class StructureScores(NamedTuple):
    """A document's scores for structure, as far as the model has heads for it."""

    keys: Scores | None  # [W]
    link_terms: Scores | None  # [W, 2P]


class BatchScores(NamedTuple):
    """The scores of a batch."""

    tags: Scores  # [B, W, T]
    keys: Scores | None  # [B, W]
    link_terms: Scores | None  # [B, W, 2P]
    types: Scores | None = None  # [B, C]

    def document(self, row: int) -> StructureScores:
        """Return a document's scores for structure."""
        return StructureScores(
            None if self.keys is None else self.keys[row], None if self.link_terms is None else self.link_terms[row]
        )


def split_key(document: Document, entity: Entity, scores: Scores | None) -> Entity:
    """Return the entity with its caption apart, given the key scores of words [W].

    A caption never takes all words, nor all digits: without them there would be no value.
    """
    if scores is None:
        return entity
    keys = [word for word in entity.words if scores[word] > 0]
    text, value = (
        "".join(document.texts[word] for word in words) for words in (entity.words, {*entity.words} - {*keys})
    )
    if not value or (_has_digit(text) and not _has_digit(value)):
        return entity
    return document.entity(entity.label, entity.words, entity.score, keys)


def _has_digit(text: str) -> bool:
    return any(character.isdigit() for character in text)


def predict_links(
    document: Document, scheme: StructureScheme, head: LinkHead, terms: Scores | None
) -> list[tuple[int, int, float]]:
    """Predict at most one owner of each entity: owner, part, and the probability of the link."""
    candidates = link_candidates(document, scheme.link_labels, scheme.linked_labels)
    if not len(candidates.parts):
        return []
    pairs = cast("Pairs", {name: _batch_of_one(array) for name, array in candidates.pairs.items()})
    with torch.inference_mode():
        scores = head(None if terms is None else _batch_of_one(terms), pairs)[0]
        probabilities = scores.softmax(dim=-1).numpy().astype(np.float64)
    return decode_forest(candidates.parts, candidates.owners, probabilities)


def _batch_of_one(array: NDArray[Any]) -> Tensor:
    return torch.from_numpy(array)[None]


def decode_forest(
    parts: NDArray[np.int64], owners: NDArray[np.int64], probabilities: NDArray[np.float64]
) -> list[tuple[int, int, float]]:
    """Choose an owner for each part, or none, so that no entity owns itself through others.

    Takes parts [L], owners [L, C] and probabilities [L, C + 1], the last for no owner. The surest links are chosen
    first; a part whose owner would close a circle gets its next best one.
    """
    order = np.argsort(-probabilities, axis=1, kind="stable")
    owner_of: dict[int, int] = {}
    links = []
    for row in np.argsort(-probabilities.max(axis=1), kind="stable").tolist():
        part = int(parts[row])
        for choice in order[row].tolist():
            if choice == owners.shape[1]:
                break
            owner = int(owners[row, choice])
            if owner >= 0 and not _leads_to(owner, part, owner_of):
                owner_of[part] = owner
                links.append((owner, part, float(probabilities[row, choice])))
                break
    return sorted(links, key=lambda link: link[1])


def _leads_to(entity: int, target: int, owner_of: dict[int, int]) -> bool:
    """Return whether following owners from an entity leads to another one."""
    current: int | None = entity
    while current is not None:
        if current == target:
            return True
        current = owner_of.get(current)
    return False
