import time
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from formnet.datasets import open_corpus
from formnet.document.builder import DocumentBuilder
from formnet.encoding.graph import (
    MAX_NEIGHBORS,
    beta_skeleton,
    box_graph,
    gabriel_graph,
    limit_degree,
    neighbors,
    page_graph,
    quantize_centers,
)

Pairs = set[tuple[int, int]]


def gabriel_by_definition(points: np.ndarray) -> Pairs:
    """Return all pairs with no third point in their closed disc: d²(i,j) < d²(i,k) + d²(j,k) for all k."""
    squared = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    pairs = set()
    for i in range(len(points)):
        third = squared[i][None, :] + squared  # [j, k]
        third[:, i] = third[np.arange(len(points)), np.arange(len(points))] = np.iinfo(np.int64).max
        connected = squared[i] < third.min(axis=1)
        pairs |= {(i, j) for j in np.flatnonzero(connected).tolist() if j > i}
    return pairs


def as_pairs(edges: np.ndarray) -> Pairs:
    pairs = list(map(tuple, edges.T.tolist()))
    assert len(set(pairs)) == len(pairs)
    return set(pairs)


def is_connected(count: int, edges: np.ndarray) -> bool:
    graph = coo_array((np.ones(edges.shape[1]), tuple(edges)), shape=(count, count))
    return count == 0 or connected_components(graph, directed=False)[0] == 1


def distinct(points: list[tuple[int, int]]) -> np.ndarray:
    return np.array(list(dict.fromkeys(points)), np.int64).reshape(-1, 2)


@pytest.mark.slow
@pytest.mark.parametrize("corpus", ["funsd:funsd", "sroie:sroie"])
def test_gabriel_graph_real_pages_match_definition(data: Path, corpus: str) -> None:
    kind, _, folder = corpus.partition(":")
    pages = 0
    for document in open_corpus(f"{kind}:{data}/{folder}"):
        for page in document.pages:
            points = quantize_centers(page.boxes)
            first = np.unique(points, axis=0, return_index=True)[1]
            assert as_pairs(gabriel_graph(points[np.sort(first)])) == gabriel_by_definition(points[np.sort(first)]), (
                document.id
            )
            edges = page_graph(page).edges
            assert is_connected(len(points), edges), document.id
            assert np.bincount(edges[0], minlength=len(points)).max() <= MAX_NEIGHBORS
            pages += 1
    assert pages == {"funsd": 199, "sroie": 973}[kind]


small = st.integers(0, 6)
large = st.integers(0, 2**20)
clouds = st.one_of(
    st.lists(st.tuples(small, small), max_size=40),  # grids, duplicates, concyclic points
    st.lists(st.tuples(large, large), max_size=30),
    st.lists(st.tuples(st.integers(0, 300), st.just(7)), max_size=20),  # a horizontal line
    st.lists(st.integers(0, 90).map(lambda t: (3 * t, 2 * t)), max_size=20),  # a slanted line
    st.lists(st.tuples(large, st.integers(0, 2)), max_size=30),  # nearly collinear
    st.lists(
        st.tuples(st.integers(0, 2**19), st.integers(-1, 1)).map(lambda p: (p[0], max(p[0] + p[1], 0))), max_size=20
    ),
)
#: Points so close to each other and to a line that Qhull merges two of them.
NEARLY_COLLINEAR = [
    *((n, n) for n in (28784, 28792, 28782, 497390, 256848, 262122, 174970, 467810)),
    (237359, 237358),
]


@given(clouds)
@example(NEARLY_COLLINEAR)
@example([])
@example([(5, 5)])
@example([(5, 5), (9, 9)])
@example([(0, 0), (4, 0), (0, 4)])
@example([(x, y) for x in range(6) for y in range(6)])
@example([(0, 0), (2**20, 0), (0, 2**20), (2**20, 2**20), (2**19, 2**19), (2**19 + 1, 2**19), (3, 7), (9, 1), (8, 8)])
def test_gabriel_graph_generated_points_match_definition(points: list[tuple[int, int]]) -> None:
    unique = distinct(points)
    edges = gabriel_graph(unique)
    assert as_pairs(edges) == gabriel_by_definition(unique)
    assert is_connected(len(unique), edges)


@given(clouds)
@example([(1, 1)] * 12)
@example([(1, 1)] * 3 + [(2, 2)] * 3)
def test_beta_skeleton_duplicate_points_is_connected_and_limited(points: list[tuple[int, int]]) -> None:
    array = np.array(points, np.int64).reshape(-1, 2)
    edges = beta_skeleton(array)
    as_pairs(edges)
    assert (edges[0] < edges[1]).all()
    assert is_connected(len(array), edges)
    assert np.bincount(edges.ravel(), minlength=1).max() <= MAX_NEIGHBORS
    unique = distinct(points)
    actual = {tuple(sorted((points[i], points[j]))) for i, j in edges.T.tolist() if points[i] != points[j]}
    expected = {
        tuple(sorted((tuple(unique[i]), tuple(unique[j]))))
        for i, j in as_pairs(limit_degree(unique, gabriel_graph(unique)))
    }
    if len(points) == len(unique) or np.bincount(gabriel_graph(unique).ravel(), minlength=1).max() < MAX_NEIGHBORS:
        assert actual == expected


def test_beta_skeleton_ring_around_point_is_limited_and_connected() -> None:
    angles = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    ring = np.rint(np.stack([np.cos(angles), np.sin(angles)], axis=1) * 10_000).astype(np.int64)
    points = np.concatenate([[[0, 0]], ring]) + 20_000
    assert np.bincount(gabriel_graph(points).ravel()).max() > MAX_NEIGHBORS
    edges = beta_skeleton(points)
    assert np.bincount(edges.ravel()).max() <= MAX_NEIGHBORS
    assert is_connected(len(points), edges)
    assert as_pairs(edges) < as_pairs(gabriel_graph(points))


@given(st.integers(1, 7), st.randoms(use_true_random=False))
def test_limit_degree_above_tree_degree_keeps_graph_connected(extra: int, random: object) -> None:
    generator = np.random.default_rng(random.randrange(2**32))  # type: ignore[attr-defined]
    points = distinct([tuple(p) for p in generator.integers(0, 40, (60, 2)).tolist()])
    edges = limit_degree(points, gabriel_graph(points), 6 + extra)
    assert is_connected(len(points), edges)
    assert np.bincount(edges.ravel()).max() <= 6 + extra


def ring(count: int) -> list[tuple[int, int]]:
    """Return a center and points around it, several at the same distance."""
    angles = np.linspace(0, 2 * np.pi, count, endpoint=False)
    around = np.rint(np.stack([np.cos(angles), np.sin(angles)], axis=1) * 1000).astype(int) + 2000
    return [(2000, 2000), *map(tuple, around.tolist())]


@pytest.mark.parametrize(
    "points", [[tuple(p) for p in np.random.default_rng(0).integers(0, 500, (200, 2)).tolist()], ring(12), ring(24)]
)
def test_beta_skeleton_permuted_points_returns_same_graph(points: list[tuple[int, int]]) -> None:
    array = distinct(points)
    for seed in range(10):
        order = np.random.default_rng(seed).permutation(len(array))
        moved = {tuple(sorted((int(order[i]), int(order[j])))) for i, j in as_pairs(beta_skeleton(array[order]))}
        assert moved == as_pairs(beta_skeleton(array))


def test_quantize_centers_fractional_boxes_keep_order() -> None:
    boxes = np.array([[0.1, 0.2, 10.3, 4.7], [0.1, 0.2, 10.35, 4.7], [100.25, 600.5, 110.0, 640.75]])
    grid = quantize_centers(boxes)
    assert grid[0, 0] < grid[1, 0] < grid[2, 0] <= 2**20
    integer = np.array([[0, 0, 3, 5], [10, 10, 21, 14.0]])
    assert quantize_centers(integer).tolist() == [[3, 5], [31, 24]]
    huge = np.array([[0, 0, 3e12, 5e12], [1e12, 0, 9e12, 9e12]])
    assert quantize_centers(huge).max() <= 2**20


def test_box_graph_features_match_paper() -> None:
    """Compare with features computed individually: relative distances, shortest distances, aspect ratios."""
    boxes = np.array([[10, 10, 50, 20], [60, 12, 90, 24], [10, 40, 30, 60], [100, 80, 150, 95.0]])
    width, height = 200.0, 100.0
    graph = box_graph(boxes, width, height)
    assert graph.edges.shape[1] == len(graph.edge_features) > 0
    for (k, m), features in zip(graph.edges.T.tolist(), graph.edge_features, strict=True):
        (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) = boxes[k], boxes[m]
        union_w, union_h = max(ax1, bx1) - min(ax0, bx0), max(ay1, by1) - min(ay0, by0)
        expected = [
            ((bx0 + bx1) / 2 - (ax0 + ax1) / 2) / width,
            ((by0 + by1) / 2 - (ay0 + ay1) / 2) / height,
            (bx0 - ax0) / width,
            (by0 - ay0) / height,
            (bx1 - ax1) / width,
            (by1 - ay1) / height,
            max(0, bx0 - ax1, ax0 - bx1) / width,
            max(0, by0 - ay1, ay0 - by1) / height,
            (ay1 - ay0) / (ax1 - ax0),
            (by1 - by0) / (bx1 - bx0),
            union_h / union_w,
        ]
        assert features.tolist() == pytest.approx(expected, abs=1e-6)
    x0, y0, x1, y1 = boxes[3] / (width, height, width, height)
    assert graph.nodes[3].tolist() == pytest.approx([x0, y0, x1, y0, x1, y1, x0, y1, x1 - x0, y1 - y0], abs=1e-6)


def test_neighbors_table_contains_every_edge_once() -> None:
    generator = np.random.default_rng(1)
    corner = generator.uniform(0, 500, (80, 2))
    graph = box_graph(np.concatenate([corner, corner + 9], axis=1), 600, 600)
    table, features = neighbors(graph)
    assert {(i, j) for i, row in enumerate(table.tolist()) for j in row if j >= 0} == as_pairs(graph.edges)
    for (i, j), expected in zip(graph.edges.T.tolist(), graph.edge_features, strict=True):
        assert np.array_equal(features[i, table[i].tolist().index(j)], expected)
    assert not features[table < 0].any()


def test_page_graph_segments_add_their_boxes_and_which_words_share_one() -> None:
    builder = DocumentBuilder("form")
    boxes = [[10, 10, 50, 20], [55, 12, 90, 22], [110, 10, 150, 20], [10, 40, 50, 50]]  # "Full name: Mary / Address"
    builder.add_page(["Full", "name:", "Mary", "Address:"], boxes, 200, 100)
    page = builder.build().pages[0]
    graph, plain = page_graph(page, segments=True), page_graph(page)
    assert np.array_equal(graph.edges, plain.edges)
    assert np.array_equal(graph.nodes[:, :10], plain.nodes)
    assert np.array_equal(graph.edge_features[:, :11], plain.edge_features)
    left, top, right, bottom = 10 / 200, 10 / 100, 90 / 200, 22 / 100
    assert graph.nodes[:2, [10, 11, 14, 15]] == pytest.approx(np.array([[left, top, right, bottom]] * 2))
    assert np.array_equal(graph.nodes[2:, 10:], graph.nodes[2:, :10])
    assert graph.edges[:, graph.edge_features[:, 11] == 1].T.tolist() == [[0, 1], [1, 0]]


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_box_graph_few_words_returns_chain(count: int) -> None:
    boxes = np.array([[10 * i, 0, 10 * i + 5, 5.0] for i in range(count)]).reshape(-1, 4)
    graph = box_graph(boxes, 100, 100)
    assert as_pairs(graph.edges) == {
        pair for i, j in combinations(range(count), 2) if j == i + 1 for pair in ((i, j), (j, i))
    }
    assert neighbors(graph)[0].shape == (count, MAX_NEIGHBORS)


@pytest.mark.slow
@pytest.mark.timing
def test_box_graph_hundred_thousand_points_scales_quasi_linearly() -> None:
    from benchmarks.graph import time_random_page

    assert time_random_page(100_000) < 25 * time_random_page(10_000)


@pytest.mark.parametrize("far", [(10_000, 2**20), (2**20, 1), (2**20, 2**20)])
def test_beta_skeleton_line_with_distant_point_is_fast(far: tuple[int, int]) -> None:
    points = np.array([*([i, 0] for i in range(20_000)), far])
    start = time.process_time()
    assert beta_skeleton(points).shape[1] >= 20_000
    assert time.process_time() - start < 5


@pytest.mark.parametrize("slope", [0, 1, 3])
def test_beta_skeleton_collinear_points_is_chain(slope: int) -> None:
    along = np.random.default_rng(0).permutation(20_000).astype(np.int64)
    points = np.stack([along, slope * along], axis=1)
    edges = beta_skeleton(points)
    assert edges.shape == (2, len(points) - 1)
    assert (np.abs(along[edges[0]] - along[edges[1]]) == 1).all()
