"""Links between entities: which item a part belongs to."""

from collections.abc import Sequence

from formnet.document import Entity
from formnet.extraction.schema import Schema


def links_by_position(entities: Sequence[Entity], schema: Schema) -> list[tuple[int, int]]:
    """Link each part of an item to the last item name that starts at or above the part's vertical middle.

    Modifiers are linked to items, and their parts to modifiers, in the same way. Lists of the schema without an anchor
    have no links.
    """
    by_label: dict[str, list[int]] = {}
    for number, entity in enumerate(entities):
        by_label.setdefault(entity.label, []).append(number)
    links = []
    for number, entity in enumerate(entities):
        label = _owner_label(entity.label, schema)
        if label is None:
            continue
        middle = (_top(entity) + _bottom(entity)) / 2
        above = [
            other
            for other in by_label.get(label, ())
            if other != number and entities[other].page == entity.page and _top(entities[other]) <= middle
        ]
        if above:
            links.append((max(above, key=lambda other: _top(entities[other])), number))
    return links


def _owner_label(label: str, schema: Schema) -> str | None:
    """Return the label of the entities that may own one of this label."""
    place = schema.by_label.get(label)
    lists = place.lists if place else ()
    if place and place.anchor:
        lists = lists[:-1]
    return schema.anchors.get(lists[-1]) if lists else None


def _top(entity: Entity) -> float:
    return min(box[1] for box in entity.boxes)


def _bottom(entity: Entity) -> float:
    return max(box[3] for box in entity.boxes)
