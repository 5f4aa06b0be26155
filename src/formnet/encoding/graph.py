"""Page graph: a β-skeleton (β = 1, the Gabriel graph) over word centers, with the features of the paper.

Two words are neighbors if no third word lies in the closed disc whose diameter is the segment between them. Every such
pair is an edge of the Delaunay triangulation, and an edge only has to be tested against its opposite corners. The test
uses integers and is therefore exact. The graph is connected because it contains the minimum spanning tree.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay, KDTree

from formnet.document import Page
from formnet.document.boxes import Boxes, merge_boxes, segment_numbers

Edges = NDArray[np.int64]  # [2, E]: from, to
Points = NDArray[np.int64]  # [N, 2]

#: Maximum number of neighbors per word, as in the paper.
MAX_NEIGHBORS = 8
#: Number of grid steps for word centers; products of coordinate differences are exact even as floats.
GRID_SIZE = 2**20
#: Up to the first number of points, testing all pairs is faster than a triangulation; above the second, too slow.
BRUTE_FORCE_POINTS, MAX_BRUTE_FORCE_POINTS = 8, 1_000

NODE_FEATURES = 10
EDGE_FEATURES = 11
#: The same with those of segments: the box of a word's segment, and whether two words share one.
SEGMENT_NODE_FEATURES, SEGMENT_EDGE_FEATURES = 2 * NODE_FEATURES, EDGE_FEATURES + 1


class PageGraph(NamedTuple):
    """The graph of a page. Every edge is present in both directions; edges are sorted by source word."""

    nodes: NDArray[np.float32]  # [N, 10], or 20 with segments
    edges: Edges  # [2, E]
    edge_features: NDArray[np.float32]  # [E, 11], or 12 with segments


def page_graph(page: Page, *, segments: bool = False) -> PageGraph:
    """Build the graph of a page's words, also with features of segments."""
    graph = box_graph(page.boxes, page.width, page.height)
    return add_segments(graph, page) if segments else graph


def add_segments(graph: PageGraph, page: Page) -> PageGraph:
    """Add the box of each word's segment to its features, and to those of edges, whether they stay in a segment."""
    numbers = segment_numbers(page.boxes)
    boxes = merge_boxes(page.boxes, numbers) / (page.width, page.height, page.width, page.height)
    start, stop = graph.edges
    is_same = (numbers[start] == numbers[stop])[:, None].astype(np.float32)
    return PageGraph(
        np.concatenate([graph.nodes, node_features(boxes.T)], axis=1),
        graph.edges,
        np.concatenate([graph.edge_features, is_same], axis=1),
    )


def box_graph(boxes: Boxes, width: float, height: float) -> PageGraph:
    """Build the graph of word boxes on a page of the given size."""
    edges = make_bidirectional(beta_skeleton(quantize_centers(boxes)), len(boxes))
    relative_boxes = (boxes / (width, height, width, height)).T
    return PageGraph(node_features(relative_boxes), edges, edge_features(relative_boxes, edges, height / width))


def quantize_centers(boxes: Boxes) -> Points:
    """Return box centers as integers; for integer boxes, exactly twice the center: [N, 2]."""
    doubled = boxes[:, :2] + boxes[:, 2:]
    points = doubled.astype(np.int64)
    largest = doubled.max(initial=1e-9)
    if largest > GRID_SIZE or (points != doubled).any():
        # Scale by a power of two, so that coordinates with few binary digits stay exact.
        points = np.rint(doubled * 2.0 ** np.floor(np.log2(GRID_SIZE / largest))).astype(np.int64)
    return points


def beta_skeleton(points: Points) -> Edges:
    """Return the edges of the β-skeleton with at most `MAX_NEIGHBORS` per point, lower index first: [2, E]."""
    return limit_degree(points, gabriel_graph(points), MAX_NEIGHBORS)


def gabriel_graph(points: Points) -> Edges:
    """Return the edges of the Gabriel graph, lower index first: [2, E].

    Points with identical coordinates form a chain, and one of them represents the others in the graph.
    """
    if len(points) > BRUTE_FORCE_POINTS:
        triangulation = Delaunay(np.concatenate([points, _enclosing_triangle(points)]))
        edges = _gabriel_from_delaunay(points, triangulation)
        if len(triangulation.coplanar) == 0:
            return edges
        omitted, _, vertex = triangulation.coplanar.T  # points that Qhull merged into their nearest vertex
        if (points[omitted] == points[vertex]).all() or len(points) > MAX_BRUTE_FORCE_POINTS:
            return np.concatenate([edges, _chain_duplicates(vertex, omitted)], axis=1)
    return _with_duplicates(points, _gabriel_brute_force)


def _enclosing_triangle(points: Points) -> Points:
    """Return a triangle around all points that lies outside every disc between two of them: [3, 2].

    Without it, Qhull takes quadratic time if many points lie on one side of the hull, and rejects points that are all
    collinear.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    side = max(int((high - low).max()), 1)
    corners: Points = (low + high) // 2 + side * np.array([[0, 2], [-2, -2], [2, -2]])
    return corners


def _gabriel_from_delaunay(points: Points, triangulation: Delaunay) -> Edges:
    """Return Delaunay edges whose disc contains no opposite corner, without those of the enclosing triangle: [2, E]."""
    corners = triangulation.simplices.T.astype(np.int64)  # [3, T]
    # Complex coordinates: the real part of a·b̄ is the dot product.
    position = (triangulation.points[:, 0] + 1j * triangulation.points[:, 1]).take(corners)
    side = position.take(_NEXT, axis=0) - position  # from each corner to the next: [3, T]
    # If the dot product of consecutive sides is not negative, the angle at their common corner is not acute, and that
    # corner lies in the disc of the opposite side.
    blocked = (side * side.take(_PREVIOUS, axis=0).conj()).real >= 0
    a, b = corners.take(_NEXT, axis=0), corners.take(_PREVIOUS, axis=0)
    count = len(triangulation.points)
    blocked |= np.maximum(a, b) >= len(points)
    # A side occurs in one or two triangles. After sorting with `blocked` as the lowest bit, its last entry decides.
    coded = ((np.minimum(a, b) * count + np.maximum(a, b)) * 2 + blocked).ravel()
    coded.sort()
    pair = coded >> 1
    free = (coded & 1) == 0
    free[:-1] &= pair[:-1] != pair[1:]
    return _decode_pairs(pair[free], count)


_NEXT, _PREVIOUS = np.array([1, 2, 0]), np.array([2, 0, 1])


def _gabriel_brute_force(points: Points) -> Edges:
    """Test all pairs of distinct points: for few points, and if the triangulation is not exact.

    Among the three points nearest to the midpoint of a pair, at least one is not in the pair; the disc is empty unless
    it contains that point.
    """
    low, high = np.triu_indices(len(points), 1)
    if len(points) < 3:
        return np.stack([low, high])
    nearest = KDTree(points).query((points[low] + points[high]) / 2, k=3)[1]  # [pairs, 3]
    third = np.where((nearest == low[:, None]) | (nearest == high[:, None]), -1, nearest).max(axis=1)
    inside = ((points[low] - points[third]) * (points[high] - points[third])).sum(axis=1) <= 0
    return np.stack([low[~inside], high[~inside]])


def _with_duplicates(points: Points, build_edges: Callable[[Points], Edges]) -> Edges:
    """Build the edges of distinct points, and chain duplicates to the first point with their coordinates."""
    _, first, group = np.unique(points, axis=0, return_index=True, return_inverse=True)
    duplicates = np.setdiff1d(np.arange(len(points)), first)
    edges = np.sort(first[build_edges(points[first])], axis=0)
    return np.concatenate([edges, _chain_duplicates(first[group[duplicates]], duplicates)], axis=1)


def _chain_duplicates(anchors: NDArray[np.integer], duplicates: NDArray[np.integer]) -> Edges:
    """Connect duplicates to their anchor as a chain, so that no point gets many neighbors: [2, L]."""
    order = np.lexsort((duplicates, anchors))
    anchors, duplicates = anchors[order], duplicates[order]
    previous = np.where(np.diff(anchors, prepend=-1) == 0, np.roll(duplicates, 1), anchors)
    return np.sort(np.stack([previous, duplicates]), axis=0).astype(np.int64)


def limit_degree(points: Points, edges: Edges, max_degree: int = MAX_NEIGHBORS) -> Edges:
    """Remove the longest edges of points above `max_degree`, except those of the minimum spanning tree.

    A Euclidean minimum spanning tree has degree at most six, so a limit of six or more can always be met without
    disconnecting the graph.
    """
    count = len(points)
    degree = np.bincount(edges.ravel(), minlength=count)
    if degree.max(initial=0) <= max_degree:
        return edges
    low, high = edges
    length = ((points[low] - points[high]) ** 2).sum(axis=1)
    # Ties in length are broken by position, so that the result does not depend on the order of words.
    position = np.sort(points[:, 0][edges] * (2 * GRID_SIZE) + points[:, 1][edges], axis=0)
    rank = np.empty(len(low))
    rank[np.lexsort((position[1], position[0], length))] = np.arange(1, len(low) + 1)
    tree = minimum_spanning_tree(coo_array((rank, (low, high)), shape=(count, count)))
    in_tree = np.isin(low * count + high, np.ravel_multi_index(tree.nonzero(), (count, count)))
    over_limit = degree > max_degree
    removable = np.flatnonzero(~in_tree & (over_limit[low] | over_limit[high]))
    keep = np.ones(len(low), np.bool_)
    for edge in removable[np.argsort(-rank[removable])].tolist():
        ends = edges[:, edge]
        if (degree[ends] > max_degree).any():
            keep[edge] = False
            degree[ends] -= 1
    return edges[:, keep]


def make_bidirectional(edges: Edges, count: int) -> Edges:
    """Return every edge in both directions, sorted by source: [2, 2E]."""
    low, high = edges
    coded = np.concatenate([low * count + high, high * count + low])
    coded.sort()
    return _decode_pairs(coded, count)


def _decode_pairs(coded: NDArray[np.int64], count: int) -> Edges:
    pairs = np.empty((2, len(coded)), np.int64)
    np.floor_divide(coded, max(count, 1), out=pairs[0])
    np.subtract(coded, pairs[0] * count, out=pairs[1])
    return pairs


def node_features(relative_boxes: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the four corners clockwise from the top left, then width and height, relative to the page: [N, 10]."""
    features = np.empty((NODE_FEATURES, relative_boxes.shape[1]), np.float32)
    features[:8] = relative_boxes.take(_CORNERS, axis=0)
    features[8:] = relative_boxes[2:] - relative_boxes[:2]
    return features.T


_CORNERS = np.array([0, 1, 2, 1, 2, 3, 0, 3])


def edge_features(relative_boxes: NDArray[np.float64], edges: Edges, page_aspect: float) -> NDArray[np.float32]:
    """Return the edge features of the paper for directed edges k → l, from relative boxes [4, N]: [E, 11].

    Offsets (x, y) from k to l between centers, top left corners and bottom right corners; the shortest distance between
    the boxes along x and y; the aspect ratios (height / width) of k, of l, and of the box around both.
    """
    start, stop = edges
    source, target = relative_boxes.take(start, axis=1), relative_boxes.take(stop, axis=1)  # [4, E]
    features = np.empty((EDGE_FEATURES, len(start)), np.float32)
    offsets = target - source
    features[0:2] = (offsets[:2] + offsets[2:]) / 2
    features[2:6] = offsets
    low, high = np.minimum(source, target), np.maximum(source, target)
    features[6:8] = np.maximum(high[:2] - low[2:], 0)
    extent = relative_boxes[2:] - relative_boxes[:2]
    aspect = extent[1] / extent[0] * page_aspect
    features[8], features[9] = aspect.take(start), aspect.take(stop)
    union = high[2:] - low[:2]
    features[10] = union[1] / union[0] * page_aspect
    return features.T


def neighbors(graph: PageGraph) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Return the neighbors of each word, padded with −1, and the features of their edges: [N, 8], [N, 8, F]."""
    start, stop = graph.edges
    count = len(graph.nodes)
    slot = np.arange(len(start)) - np.searchsorted(start, np.arange(count))[start]
    table = np.full((count, MAX_NEIGHBORS), -1, np.int64)
    features = np.zeros((count, MAX_NEIGHBORS, graph.edge_features.shape[1]), np.float32)
    table[start, slot] = stop
    features[start, slot] = graph.edge_features
    return table, features
