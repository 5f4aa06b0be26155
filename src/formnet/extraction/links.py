"""Scores to structure: captions of entities, and links between them, which form a forest.

Shapes: B documents, W words, T tags, P size of the link head, C document types.
"""

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from formnet.document import Document, Entity
from formnet.document.boxes import text_slope
from formnet.encoding import StructureScheme
from formnet.encoding.links import link_candidates
from formnet.extraction.schema import Schema
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


def links_by_position(document: Document, entities: Sequence[Entity], schema: Schema) -> list[tuple[int, int]]:
    """Link each part of an item to the last item name that starts at or above the part's vertical middle.

    Heights are corrected for the slope of tilted pages. Modifiers are linked to items, and their parts to modifiers,
    in the same way. Lists of the schema without an anchor have no links.
    """
    slopes = [text_slope(page.boxes) for page in document.pages]
    extents = [_vertical_extent(entity, slopes[entity.page]) for entity in entities]
    tops: dict[tuple[str, int], list[tuple[float, int]]] = {}  # of the possible owners, by label and page
    for number, entity in enumerate(entities):
        if entity.label in schema.anchors.values():
            tops.setdefault((entity.label, entity.page), []).append((extents[number][0], number))
    for owners in tops.values():
        owners.sort()
    links = []
    for number, entity in enumerate(entities):
        owners = tops.get((_owner_label(entity.label, schema) or "", entity.page), [])
        middle = sum(extents[number]) / 2
        above = bisect_right(owners, (middle, len(entities)))
        if above:
            links.append((owners[above - 1][1], number))
    return links


def _owner_label(label: str, schema: Schema) -> str | None:
    """Return the label of the entities that may own one of this label."""
    place = schema.by_label.get(label)
    lists = place.lists if place else ()
    if place and place.anchor:
        lists = lists[:-1]
    return schema.anchors.get(lists[-1]) if lists else None


def _vertical_extent(entity: Entity, slope: float) -> tuple[float, float]:
    """Return top and bottom of an entity on a page that is turned upright."""
    drops = [slope * (box[0] + box[2]) / 2 for box in entity.boxes]
    return (
        min(box[1] - drop for box, drop in zip(entity.boxes, drops, strict=True)),
        max(box[3] - drop for box, drop in zip(entity.boxes, drops, strict=True)),
    )
