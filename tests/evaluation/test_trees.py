import csv
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formnet.datasets import open_corpus
from formnet.evaluation.trees import (
    TreeScores,
    cord_schema,
    leaves,
    normalize_tree,
    text_distance,
    text_tree,
    tree_accuracy,
)

zss = pytest.importorskip("zss")
TEXTS = st.text("ab1 ", max_size=3)
TREES = st.dictionaries(
    st.sampled_from(["menu", "total", "x"]),
    st.recursive(
        TEXTS | st.lists(TEXTS, max_size=3),
        lambda children: (
            st.dictionaries(st.sampled_from("abc"), children, max_size=3)
            | st.lists(st.dictionaries(st.sampled_from("abc"), children, max_size=2), max_size=2)
        ),
        max_leaves=6,
    ),
    max_size=3,
)


def reference_distance(a: object, b: object) -> float:
    """Compute the tree edit distance with another implementation."""

    def build(value: object, name: str) -> zss.Node:
        node = zss.Node((name, False))
        children = value.items() if isinstance(value, dict) else (("<subtree>", item) for item in value)  # type: ignore[attr-defined]
        for key, child in children:
            node.addkid(zss.Node((child, True)) if isinstance(child, str) else build(child, key))
        return node

    def cost(node: zss.Node) -> int:
        text, is_leaf = node.label
        return len(text) if is_leaf else 1

    def replace(a: zss.Node, b: zss.Node) -> int:
        (text_a, leaf_a), (text_b, leaf_b) = a.label, b.label
        if leaf_a and leaf_b:
            return text_distance(text_a, text_b)
        if leaf_a or leaf_b:
            return 1 + len(text_a if leaf_a else text_b)
        return int(text_a != text_b)

    return float(zss.distance(build(a, "<root>"), build(b, "<root>"), zss.Node.get_children, cost, cost, replace))


@given(TREES, TREES)
def test_tree_accuracy_equals_reference_implementation(predicted: object, gold: object) -> None:
    predicted, gold = normalize_tree(predicted), normalize_tree(gold)
    size = reference_distance({}, gold)
    if size:
        expected = max(0.0, 1 - reference_distance(predicted, gold) / size)
        assert tree_accuracy(predicted, gold) == pytest.approx(expected)
    else:
        assert tree_accuracy(predicted, gold) == float(not predicted)


def test_tree_scores_hand_worked_example() -> None:
    gold = {"menu": [{"nm": "Kopi", "price": "7"}, {"nm": "Roti", "price": "3"}], "total": {"total_price": "10"}}
    predicted = {"menu": [{"nm": "Kopi", "price": "7"}, {"nm": "Rot", "price": "3"}], "total": {"cash": ["10"]}}
    scores = TreeScores()
    scores.add(predicted, gold)
    result = scores.to_json()
    # Leaves: 3 of 5 found; items: 1 of 2.
    assert result["donut_f1"] == pytest.approx(3 / 5)
    assert result["item_f1"] == pytest.approx(1 / 2)
    # Characters 4 + 1 + 4 + 1 + 2, and the nodes menu, 2 × <subtree>, 2 × nm, 2 × price, total, <subtree>, total_price.
    assert result["nted"] == pytest.approx(1 - 2 / (12 + 10))  # one character inserted, one key renamed


def test_tree_scores_missing_leaves_and_extra_leaves_count() -> None:
    scores = TreeScores()
    scores.add({}, {"total": {"total_price": "10"}})
    scores.add({"total": {"total_price": "10", "cashprice": "9"}}, {"total": {"total_price": "10"}})
    assert scores.to_json()["donut_f1"] == pytest.approx(2 * 1 / (2 + 2))


def test_text_tree_cord_equals_parse_of_the_corpus(data: Path) -> None:
    file = data / "cord/v2-validation.csv"
    csv.field_size_limit(2**24)
    with file.open(encoding="utf-8", newline="") as rows:
        expected = {
            Path(row["filename"]).stem: json.loads(row["ground_truth"])["gt_parse"] for row in csv.DictReader(rows)
        }
    schema, count, equal = cord_schema(), 0, 0
    for document in open_corpus(f"cord:{file}"):
        tree, gold = normalize_tree(text_tree(document, schema)), normalize_tree(expected[document.id])
        assert sorted(leaves(tree)) == sorted(leaves(gold)), document.id
        count += len(list(leaves(gold)))
        equal += tree_accuracy(tree, gold) == 1
    assert count == 1219
    assert equal == 100
