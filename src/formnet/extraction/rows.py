"""Links by position: parts of an item are printed in its row. This module does not import torch."""

from bisect import bisect_right
from collections.abc import Sequence

from formnet.document import Document, Entity
from formnet.document.boxes import text_slope
from formnet.extraction.schema import Schema


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


def links_in_rows(document: Document, schema: Schema) -> list[tuple[int, int]]:
    """Link the parts of items that have no owner but share a row, so that an item without a name is still one item.

    The leftmost part of a row owns the others; of several parts with the same label, each starts a row of its own.
    """
    slopes = [text_slope(page.boxes) for page in document.pages]
    owned = {part for _, part in document.links}
    rows: list[tuple[str, int, float, float, dict[str, int]]] = []  # owner's label, page, extent, entities by label
    links = []
    entities = document.entities
    for number in sorted(range(len(entities)), key=lambda number: min(box[0] for box in entities[number].boxes)):
        entity = entities[number]
        owner = _owner_label(entity.label, schema)
        if owner is None or number in owned:
            continue
        top, bottom = _vertical_extent(entity, slopes[entity.page])
        for row_owner, page, row_top, row_bottom, members in rows:
            is_same_row = (row_owner, page) == (owner, entity.page) and row_top < (top + bottom) / 2 < row_bottom
            if is_same_row and entity.label not in members:
                links.append((next(iter(members.values())), number))
                members[entity.label] = number
                break
        else:
            rows.append((owner, entity.page, top, bottom, {entity.label: number}))
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
