"""Candidate links between entities: the nearest possible owners of each entity, with the geometry of every pair.

Shapes: E entities, L entities that may be parts, C candidate owners per part, F features per pair.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from formnet.document import Document
from formnet.document.boxes import text_slope

#: Candidate owners per part.
MAX_OWNERS = 24
PAIR_FEATURES = 22
#: Horizontal distances count less than vertical ones: an item's price is at the other end of its line.
_HORIZONTAL_WEIGHT = 0.2

Floats = NDArray[np.float64]


class LinkCandidates(NamedTuple):
    """Possible owners per part, as indices of entities."""

    parts: NDArray[np.int64]  # [L]
    owners: NDArray[np.int64]  # [L, C], nearest first, padded with −1
    part_labels: NDArray[np.int64]  # [L]
    owner_labels: NDArray[np.int64]  # [L, C]
    features: NDArray[np.float32]  # [L, C, F]
    first_words: NDArray[np.int64]  # [E]

    @property
    def pairs(self) -> dict[str, NDArray[Any]]:
        """`formnet.modeling.links.Pairs` of one document, in which an entity is its first word."""
        first_words = np.append(self.first_words, -1)
        return {
            "parts": first_words[self.parts],
            "owners": first_words[self.owners],
            "part_labels": self.part_labels,
            "owner_labels": self.owner_labels,
            "pair_features": self.features,
        }

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
    """Position of each entity: box in median word heights (y) and page widths (x), page, first word, and label."""

    boxes: Floats  # [E, 4]
    pages: NDArray[np.int64]  # [E]
    first_words: NDArray[np.int64]  # [E]
    labels: NDArray[np.int64]  # [E], −1 for labels without links

    @property
    def middles(self) -> Floats:
        """Vertical middles: [E]."""
        return (self.boxes[:, 1] + self.boxes[:, 3]) / 2


class _Series(NamedTuple):
    """Place of each entity among those with its label on its page, from top to bottom."""

    number: NDArray[np.int64]  # [E] from 0
    size: NDArray[np.int64]  # [E] number of such entities
    first: Floats  # [E] vertical middle of the first
    last: Floats  # [E] vertical middle of the last


def link_candidates(
    document: Document, label_pairs: Collection[tuple[str, str]], linked_labels: Sequence[str]
) -> LinkCandidates:
    """Find the possible owners of a document's entities: the nearest ones whose labels may be linked.

    `label_pairs` holds the labels of owner and part, and `linked_labels` numbers them. The number of candidates, and so
    the cost, grows linearly.
    """
    layout = _layout(document, linked_labels)
    allowed = np.zeros((len(linked_labels), len(linked_labels)), np.bool_)  # [owner, part]
    for owner_label, part_label in label_pairs:
        allowed[linked_labels.index(owner_label), linked_labels.index(part_label)] = True
    parts, owners = [np.empty(0, np.int64)], [np.empty((0, MAX_OWNERS), np.int64)]
    for page, label in np.unique(np.stack([layout.pages, layout.labels]), axis=1).T.tolist():
        if label >= 0:
            on_page = (layout.pages == page) & (layout.labels >= 0)
            some_parts = np.flatnonzero(on_page & (layout.labels == label))
            some_owners = np.flatnonzero(on_page & allowed[:, label][layout.labels])
            if len(some_owners):
                parts.append(some_parts)
                owners.append(_nearest(layout, some_parts, some_owners))
    order = np.argsort(np.concatenate(parts), kind="stable")
    part, owner = np.concatenate(parts)[order], np.concatenate(owners)[order]
    owner = owner[:, : max(int((owner >= 0).sum(axis=1).max(initial=0)), 1)]
    features = _pair_features(layout, _series(layout), part, owner)
    return LinkCandidates(part, owner, layout.labels[part], layout.labels[owner], features, layout.first_words)


def _layout(document: Document, linked_labels: Sequence[str]) -> _Layout:
    entities = document.entities
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
    numbers = {label: number for number, label in enumerate(linked_labels)}
    return _Layout(
        boxes,
        np.array([entity.page for entity in entities], np.int64),
        np.array([entity.words[0] for entity in entities], np.int64),
        np.array([numbers.get(entity.label, -1) for entity in entities], np.int64),
    )


def _series(layout: _Layout) -> _Series:
    order = np.lexsort((layout.boxes[:, 0], layout.middles, layout.labels, layout.pages))
    page, label = layout.pages[order], layout.labels[order]
    starts = np.flatnonzero((np.diff(page, prepend=-1) != 0) | (np.diff(label, prepend=-2) != 0))
    counts = np.diff(starts, append=len(order))
    number, size = np.empty_like(order), np.empty_like(order)
    first, last = np.empty(len(order)), np.empty(len(order))
    number[order] = np.arange(len(order)) - np.repeat(starts, counts)
    size[order] = np.repeat(counts, counts)
    first[order] = np.repeat(layout.middles[order[starts]], counts)
    last[order] = np.repeat(layout.middles[order[starts + counts - 1]], counts)
    return _Series(number, size, first, last)


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


def _pair_features(
    layout: _Layout, series: _Series, parts: NDArray[np.int64], owners: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Describe the position of each part relative to each of its candidate owners: [L, C, F].

    The last six show which way a document is laid out: whether quantities are printed above or below the names of their
    items, and which of them is as far from the top as a name. By its own position, a quantity may belong to either.
    """
    px0, py0, px1, py1 = (layout.boxes[parts, None, side] for side in range(4))  # [L, 1]
    ox0, oy0, ox1, oy1 = (layout.boxes[owners, side] for side in range(4))  # [L, C]
    part_middle, owner_middle = layout.middles[parts, None], layout.middles[owners]
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
    from_top = series.number[parts, None] - series.number[owners]
    from_bottom = from_top - series.size[parts, None] + series.size[owners]
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
        layout.labels[owners] == layout.labels[parts, None],
        np.tanh(words / 10),
        np.clip(from_top / 3, -1, 1),
        np.clip(from_bottom / 3, -1, 1),
        from_top == 0,
        from_bottom == 0,
        np.tanh(series.first[owners] - series.first[parts, None]),
        np.tanh(series.last[parts, None] - series.last[owners]),
    ]
    stacked = np.stack(np.broadcast_arrays(*features), axis=2, dtype=np.float32)
    stacked[owners < 0] = 0
    return stacked
