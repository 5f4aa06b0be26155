"""Entities and links to a tree: header fields, and lists of items with their parts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from formnet.document import Entity
from formnet.extraction.schema import Schema


@dataclass
class Node:
    """A part of the tree: its values, its lists and its other parts, by name."""

    values: dict[str, list[Entity]] = field(default_factory=dict)
    lists: dict[str, list["Node"]] = field(default_factory=dict)
    parts: dict[str, "Node"] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)


def build_tree(entities: Sequence[Entity], links: Sequence[tuple[int, int]], schema: Schema) -> Node:
    """Arrange entities in the tree of a schema.

    An entity in a list belongs to the same list element as its owner, the entity that a link leads from. Without an
    owner in that list, it starts an element of its own. Elements are in reading order. Where others have more values,
    elements that have only an anchor that is not `alone` are left out.
    """
    owners: dict[int, int] = {}
    for owner, part in links:
        owners.setdefault(part, owner)
    root = Node()
    elements: dict[tuple[str, int], Node] = {}
    for number in sorted(range(len(entities)), key=lambda number: entities[number].words):
        entity = entities[number]
        place = schema.by_label.get(entity.label)
        if place is None or not entity.text:
            continue
        anchors = dict(zip(place.lists, _anchors(number, entities, owners, schema), strict=True))
        node, path = root, ""
        for name, is_list in place.segments[:-1]:
            path = f"{path}.{name}" if path else name
            if not is_list:
                node = node.parts.setdefault(name, Node())
                continue
            key = path, anchors[path]
            if key not in elements:
                elements[key] = Node()
                node.lists.setdefault(name, []).append(elements[key])
            node = elements[key]
        node.values.setdefault(place.segments[-1].name, []).append(entity)
        node.constants.update(place.constants)
    for name, label in schema.anchors.items():
        if name in root.lists and not schema.by_label[label].alone:
            root.lists[name] = _without_headings(root.lists[name], schema.by_label[label].segments[-1].name)
    return root


def _without_headings(elements: list[Node], anchor: str) -> list[Node]:
    """Return the elements that have more than an anchor or, if none has more, all of them."""
    return [e for e in elements if e.lists or e.parts or e.values.keys() != {anchor}] or elements


def _anchors(number: int, entities: Sequence[Entity], owners: Mapping[int, int], schema: Schema) -> list[int]:
    """Return, for each list that an entity is in, the entity that stands for its element."""
    chain = [number]
    while (owner := owners.get(chain[-1])) is not None and owner not in chain:
        chain.append(owner)
    anchors: list[int] = []
    lists: tuple[str, ...] = ()
    for member in reversed(chain):
        place = schema.by_label.get(entities[member].label)
        own = place.lists if place else ()
        shared = sum(a == b for a, b in zip(own, lists, strict=False))
        anchors = anchors[:shared] + [member] * (len(own) - shared)
        lists = own
    return anchors
