"""Candidate links between entities: the nearest possible owners of each entity, with the geometry of every pair.

Shapes: L entities that may be parts, C candidate owners per part, F features per pair.
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from formnet.document import Document, Entity
from formnet.document.boxes import text_slope

#: Candidate owners per part.
MAX_OWNERS = 24
PAIR_FEATURES = 16
#: Horizontal distances count less than vertical ones: an item's price is at the other end of its line.
_HORIZONTAL_WEIGHT = 0.2

Floats = NDArray[np.float64]


class LinkCandidates(NamedTuple):
    """Possible owners per part, as indices of entities."""

    parts: NDArray[np.int64]  # [L]
    owners: NDArray[np.int64]  # [L, C], nearest first, padded with −1
    features: NDArray[np.float32]  # [L, C, F]

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Which candidates are not padding: [L, C]."""
        return self.owners >= 0

    def targets(self, links: Iterable[tuple[int, int]]) -> NDArray[np.int64]:
        """Return the position of each part's owner among its candidates: [L].

        It is C for parts without an owner, and −1 if the owner is not a candidate.
        """
        owner_of: dict[int, int] = {}
        for owner, part in links:
            owner_of.setdefault(part, owner)
        targets = np.full(len(self.parts), self.owners.shape[1], np.int64)
        for row, part in enumerate(self.parts.tolist()):
            if part in owner_of:
                found = np.flatnonzero(self.owners[row] == owner_of[part])
                targets[row] = found[0] if len(found) else -1
        return targets


class _Layout(NamedTuple):
    """Position of each entity: box in median word heights (y) and page widths (x), page, and first word."""

    boxes: Floats  # [E, 4]
    pages: NDArray[np.int64]  # [E]
    first_words: NDArray[np.int64]  # [E]
    labels: NDArray[np.int64]  # [E]


def link_candidates(document: Document, label_pairs: Collection[tuple[str, str]]) -> LinkCandidates:
    """Find the possible owners of a document's entities: the nearest ones whose labels may be linked.

    `label_pairs` holds the labels of owner and part. The number of candidates, and so the cost, grows linearly.
    """
    entities = document.entities
    names = sorted({entity.label for entity in entities})
    layout = _layout(document, entities, names)
    allowed = np.zeros((len(names), len(names)), np.bool_)  # [owner, part]
    for owner_label, part_label in label_pairs:
        if owner_label in names and part_label in names:
            allowed[names.index(owner_label), names.index(part_label)] = True
    parts, owners = [np.empty(0, np.int64)], [np.empty((0, MAX_OWNERS), np.int64)]
    for page in np.unique(layout.pages):
        for label in range(len(names)):
            on_page = layout.pages == page
            some_parts = np.flatnonzero(on_page & (layout.labels == label))
            some_owners = np.flatnonzero(on_page & allowed[:, label][layout.labels])
            if len(some_parts) and len(some_owners):
                parts.append(some_parts)
                owners.append(_nearest(layout, some_parts, some_owners))
    order = np.argsort(np.concatenate(parts), kind="stable")
    part, owner = np.concatenate(parts)[order], np.concatenate(owners)[order]
    width = max(int((owner >= 0).sum(axis=1).max(initial=0)), 1)
    owner = owner[:, :width]
    return LinkCandidates(part, owner, _pair_features(layout, part, owner))


def _layout(document: Document, entities: Collection[Entity], names: list[str]) -> _Layout:
    sizes = []
    slopes = [text_slope(page.boxes) for page in document.pages]
    for page in document.pages:
        heights = page.boxes[:, 3] - page.boxes[:, 1]
        height = float(np.median(heights)) if len(heights) else 1.0
        sizes.append((page.width, max(height, 1e-3 * page.height), page.width, max(height, 1e-3 * page.height)))
    boxes = np.empty((len(entities), 4))
    for row, entity in zip(boxes, entities, strict=True):
        lines = np.array(entity.boxes)
        # On a tilted page, the parts of a row are at different heights.
        lines[:, 1::2] -= slopes[entity.page] * lines[:, 0::2].mean(axis=1, keepdims=True)
        row[:2], row[2:] = lines[:, :2].min(axis=0), lines[:, 2:].max(axis=0)
        row /= sizes[entity.page]
    return _Layout(
        boxes,
        np.array([entity.page for entity in entities], np.int64),
        np.array([entity.words[0] for entity in entities], np.int64),
        np.array([names.index(entity.label) for entity in entities], np.int64),
    )


def _nearest(layout: _Layout, parts: NDArray[np.int64], owners: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the nearest owners of each part, without itself: [L, C], padded with −1."""
    aspect = 40.0  # page widths in word heights, roughly
    centers = (layout.boxes[:, :2] + layout.boxes[:, 2:]) / 2 * (aspect * _HORIZONTAL_WEIGHT, 1.0)
    _, found = KDTree(centers[owners]).query(centers[parts], k=np.arange(1, MAX_OWNERS + 2))
    nearest = np.append(owners, -1)[np.minimum(found, len(owners))]
    is_self = nearest == parts[:, None]
    nearest[is_self] = -1
    order = np.argsort(is_self, axis=1, kind="stable")  # a part itself goes to the end
    return np.take_along_axis(nearest, order, axis=1)[:, :MAX_OWNERS]


def _pair_features(layout: _Layout, parts: NDArray[np.int64], owners: NDArray[np.int64]) -> NDArray[np.float32]:
    """Describe the position of each part relative to each of its candidate owners: [L, C, F]."""
    px0, py0, px1, py1 = (layout.boxes[parts, None, side] for side in range(4))  # [L, 1]
    ox0, oy0, ox1, oy1 = (layout.boxes[owners, side] for side in range(4))  # [L, C]
    part_middle, owner_middle = (py0 + py1) / 2, (oy0 + oy1) / 2
    overlap_y = np.minimum(py1, oy1) - np.maximum(py0, oy0)
    overlap_x = np.minimum(px1, ox1) - np.maximum(px0, ox0)
    part_word, owner_word = layout.first_words[parts, None], layout.first_words[owners]
    same_label = (layout.labels[owners][:, :, None] == layout.labels[owners][:, None, :]) & (owners >= 0)[:, None, :]
    is_above, is_before = oy0 <= part_middle, owner_word < part_word

    def rank(nearer: NDArray[np.bool_], side: NDArray[np.bool_]) -> Floats:
        """Return 1 for the nearest owner of a label on one side, 1/2 for the second, and 0 on the other side."""
        between = (same_label & side[:, None, :] & nearer).sum(axis=2)
        return np.where(side, 1 / (1 + between), 0.0)

    tops, words = oy0 - part_middle, (owner_word - part_word).astype(np.float64)
    features = [
        px0 - ox0,
        px1 - ox1,
        px0 - ox1,
        np.tanh((py0 - oy0) / 2),
        np.tanh((part_middle - owner_middle) / 2),
        np.tanh((py0 - oy1) / 2),
        np.tanh((part_middle - owner_middle) / 10),
        np.clip(overlap_y / np.maximum(np.minimum(py1 - py0, oy1 - oy0), 1e-6), -1, 1),
        np.clip(overlap_x / np.maximum(np.minimum(px1 - px0, ox1 - ox0), 1e-6), -1, 1),
        np.where(is_before, 1.0, -1.0),
        rank(tops[:, None, :] > tops[:, :, None], is_above),
        rank(tops[:, None, :] < tops[:, :, None], ~is_above),
        rank(words[:, None, :] > words[:, :, None], is_before),
        rank(words[:, None, :] < words[:, :, None], ~is_before),
        (layout.labels[owners] == layout.labels[parts, None]).astype(np.float64),
        np.tanh(words / 10),
    ]
    stacked = np.stack(np.broadcast_arrays(*features), axis=2, dtype=np.float32)
    stacked[owners < 0] = 0
    return stacked
