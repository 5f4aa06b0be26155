"""Comparison of structured output as trees: the metrics of Donut (Kim et al., 2022) on CORD, and complete items.

A tree is plain data: dictionaries, lists and texts. Before comparison, empty values are dropped, every value becomes a
list, and keys are sorted by length and name.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from formnet.datasets.cord import CANONICAL_NAMES, CATEGORIES
from formnet.document import Document
from formnet.evaluation.counts import Tally
from formnet.extraction.schema import FieldSchema, Schema
from formnet.extraction.structure import Node, build_tree

Tree = dict[str, Any]


def cord_schema(names: Mapping[str, str] | None = None) -> Schema:
    """Return the schema of CORD's own trees, with its own names; labels may have other names."""
    names = names or {}
    return Schema(
        fields=tuple(
            FieldSchema(
                label=names.get(label, label),
                path=_cord_path(label),
                anchor=label.endswith("menu.nm") or label == "menu.sub_nm",
            )
            for label in CATEGORIES
        )
    )


def find_cord_schema(labels: Collection[str]) -> Schema | None:
    """Return the schema of CORD's trees for its labels, under their own or their canonical names."""
    schemas = (cord_schema(names) for names in ({}, CANONICAL_NAMES))
    return next((schema for schema in schemas if schema.by_label.keys() == {*labels}), None)


def _cord_path(label: str) -> str:
    """Return the path of a category.

    >>> _cord_path("menu.sub_nm"), _cord_path("menu.nm"), _cord_path("total.cashprice")
    ('menu[].sub[].nm', 'menu[].nm', 'total.cashprice')
    """
    group, _, name = label.partition(".")
    if not group.endswith("menu"):
        return label
    return f"{group}[].sub[].{name.removeprefix('sub_')}" if name.startswith("sub_") else f"{group}[].{name}"


def text_tree(document: Document, schema: Schema) -> Tree:
    """Return the tree of a document's entities with their texts only."""
    return _texts(build_tree(document.entities, document.links, schema))


def _texts(node: Node) -> Tree:
    return {
        **{name: [entity.text for entity in entities] for name, entities in node.values.items()},
        **{name: [_texts(element) for element in elements] for name, elements in node.lists.items()},
        **{name: _texts(part) for name, part in node.parts.items()},
    }


def normalize_tree(tree: Any) -> Any:
    """Drop empty values, make every value a list of texts or of dictionaries, and sort keys by length and name.

    >>> normalize_tree({"total": {"price": " 9 "}, "b": "", "menu": {"nm": ["x"]}})
    {'menu': [{'nm': ['x']}], 'total': [{'price': ['9']}]}
    """
    if isinstance(tree, dict):
        items = ((key, normalize_tree(tree[key])) for key in sorted(tree, key=lambda key: (len(key), key)))
        return {key: value if isinstance(value, list) else [value] for key, value in items if value}
    if isinstance(tree, list):
        if all(isinstance(item, dict) for item in tree):
            return [item for item in map(normalize_tree, tree) if item]
        return [text for item in tree if not isinstance(item, dict | list) and (text := str(item).strip())]
    text = "" if tree is None else str(tree).strip()
    return [text] if text else []


def leaves(tree: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield the (path, text) pairs of a normalized tree; paths are without the numbers of list elements."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{path}.{key}" if path else key)
    elif isinstance(tree, list):
        for item in tree:
            yield from leaves(item, path)
    else:
        yield path, tree


@dataclass
class TreeScores:
    """Scores over documents: F1 of leaves, mean nTED accuracy, and F1 of complete items."""

    leaves: Tally = field(default_factory=Tally)
    items: Tally = field(default_factory=Tally)
    tree_accuracies: list[float] = field(default_factory=list)

    def add(self, predicted: Tree, gold: Tree) -> None:
        """Compare the trees of one document."""
        predicted, gold = normalize_tree(predicted), normalize_tree(gold)
        self.leaves.add(_count_matches(leaves(predicted), leaves(gold)))
        self.items.add(_count_matches(_items(predicted), _items(gold)))
        self.tree_accuracies.append(tree_accuracy(predicted, gold))

    def to_json(self) -> dict[str, float]:
        """Return the scores."""
        return {
            "donut_f1": self.leaves.score.f1,
            "nted": float(np.mean(self.tree_accuracies)) if self.tree_accuracies else 0.0,
            "item_f1": self.items.score.f1,
        }


def _items(tree: Tree) -> Iterator[tuple[tuple[str, str], ...]]:
    """Yield the leaves of each item of CORD's menu."""
    return (tuple(leaves(item)) for item in tree.get("menu", []))


def _count_matches(predicted: Iterable[Hashable], gold: Iterable[Hashable]) -> Tally:
    predicted_counts, gold_counts = Counter(predicted), Counter(gold)
    correct = (predicted_counts & gold_counts).total()
    return Tally(gold_counts.total(), predicted_counts.total(), correct)


def tree_accuracy(predicted: Tree, gold: Tree) -> float:
    """Return 1 minus the edit distance of normalized trees relative to the size of the second, but at least 0."""
    gold_nodes = _ordered_nodes(gold)
    size = sum(node.cost for node in gold_nodes) - 1  # without the root
    if size == 0:
        return float(not predicted)
    return max(0.0, 1 - _tree_distance(_ordered_nodes(predicted), gold_nodes) / size)


@dataclass(frozen=True)
class _OrderedNode:
    """A node in postorder: its text, whether it is a leaf, and the index of its leftmost descendant."""

    text: str
    is_leaf: bool
    leftmost: int

    @property
    def cost(self) -> int:
        """Cost of inserting or removing the node: the characters of a leaf, 1 for others."""
        return len(self.text) if self.is_leaf else 1


def _ordered_nodes(tree: Tree) -> list[_OrderedNode]:
    nodes: list[_OrderedNode] = []

    def visit(value: Any, name: str) -> None:
        leftmost = len(nodes)
        children = value.items() if isinstance(value, dict) else (("<subtree>", item) for item in value)
        for key, child in children:
            if isinstance(child, str):
                nodes.append(_OrderedNode(child, is_leaf=True, leftmost=len(nodes)))
            else:
                visit(child, key)
        nodes.append(_OrderedNode(name, is_leaf=False, leftmost=leftmost))

    visit(tree, "<root>")
    return nodes


def _tree_distance(a: Sequence[_OrderedNode], b: Sequence[_OrderedNode]) -> float:
    """Compute the edit distance of ordered trees (Zhang and Shasha, 1989)."""
    distance = np.zeros((len(a), len(b)))
    for i in _key_roots(a):
        for j in _key_roots(b):
            _fill_distances(distance, a, b, i, j)
    return float(distance[-1, -1])


def _key_roots(nodes: Sequence[_OrderedNode]) -> list[int]:
    """Return, for each leftmost descendant, the highest node that has it, in ascending order."""
    return sorted({node.leftmost: i for i, node in enumerate(nodes)}.values())


def _fill_distances(
    distance: np.ndarray[Any, np.dtype[np.float64]],
    a: Sequence[_OrderedNode],
    b: Sequence[_OrderedNode],
    i: int,
    j: int,
) -> None:
    """Compute the distances between all subtrees on the left path of node i of `a` and those of node j of `b`."""
    first_a, first_b = a[i].leftmost, b[j].leftmost
    forest = np.zeros((i - first_a + 2, j - first_b + 2))
    forest[1:, 0] = np.cumsum([node.cost for node in a[first_a : i + 1]])
    forest[0, 1:] = np.cumsum([node.cost for node in b[first_b : j + 1]])
    for m in range(first_a, i + 1):
        for n in range(first_b, j + 1):
            row, column = m - first_a + 1, n - first_b + 1
            removed = forest[row - 1, column] + a[m].cost
            inserted = forest[row, column - 1] + b[n].cost
            if a[m].leftmost == first_a and b[n].leftmost == first_b:
                replaced = forest[row - 1, column - 1] + _replacement_cost(a[m], b[n])
                forest[row, column] = distance[m, n] = min(removed, inserted, replaced)
            else:
                subtrees = forest[a[m].leftmost - first_a, b[n].leftmost - first_b] + distance[m, n]
                forest[row, column] = min(removed, inserted, subtrees)


def _replacement_cost(a: _OrderedNode, b: _OrderedNode) -> int:
    if a.is_leaf and b.is_leaf:
        return text_distance(a.text, b.text)
    if a.is_leaf or b.is_leaf:
        return 1 + len(a.text if a.is_leaf else b.text)
    return int(a.text != b.text)


@lru_cache(maxsize=65536)
def text_distance(a: str, b: str) -> int:
    """Compute the edit distance of two texts: inserted, removed and replaced characters.

    >>> text_distance("kitten", "sitting"), text_distance("", "ab")
    (3, 2)
    """
    if a == b:
        return 0
    row = list(range(len(b) + 1))
    for i, character in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, other in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (character != other))
    return row[-1]
