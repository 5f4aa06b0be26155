"""The page as a graph: a β-skeleton (β = 1, the Gabriel graph) over word centers, with the paper's features.

Two words are joined when no third lies in the closed disc between them. Every such pair is an edge of the Delaunay
triangulation, and of those it is enough to test the two corners opposite the edge. The test is made on whole
numbers, so it is exact. The graph is connected: it holds every edge of the minimum spanning tree.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.spatial import Delaunay, KDTree

from formnet.document import Page
from formnet.document.boxes import Boxes

Edges = NDArray[np.int64]  # [2, E]: from, to
Grid = NDArray[np.int64]  # [N, 2]

#: The paper's "maximum number of neighbors".
MAX_NEIGHBOURS = 8
#: Centers are laid on a grid of this many steps: products of differences stay exact even as floats.
GRID = 2**20
#: Up to here all pairs are tried, which is quicker than a triangulation; from here on that would take too long.
FEW, TOO_MANY = 8, 1_000

NODE_FEATURES = 10
EDGE_FEATURES = 11


class PageGraph(NamedTuple):
    """One page's graph. Edges are directed, both ways, sorted by the word they start from."""

    nodes: NDArray[np.float32]  # [N, 10]
    edges: Edges  # [2, E]
    edge_features: NDArray[np.float32]  # [E, 11]


def page_graph(page: Page) -> PageGraph:
    """Build the graph of a page's words."""
    return box_graph(page.boxes, page.width, page.height)


def box_graph(boxes: Boxes, width: float, height: float) -> PageGraph:
    """Build the graph of boxes on a page of this size."""
    edges = both_ways(skeleton(on_grid(boxes)), len(boxes))
    shares = (boxes / (width, height, width, height)).T
    return PageGraph(node_features(shares), edges, edge_features(shares, edges, height / width))


def on_grid(boxes: Boxes) -> Grid:
    """Give box centers as whole numbers, twice the center where boxes are whole numbers already: [N, 2]."""
    twice = boxes[:, :2] + boxes[:, 2:]
    whole = twice.astype(np.int64)
    largest = twice.max(initial=1e-9)
    if largest > GRID or (whole != twice).any():
        # A power of two, so that coordinates with few binary places stay exact.
        whole = np.rint(twice * 2.0 ** np.floor(np.log2(GRID / largest))).astype(np.int64)
    return whole


def skeleton(points: Grid) -> Edges:
    """Give the β-skeleton of points with at most so many neighbors each, the lower number first: [2, E]."""
    return capped(points, gabriel(points), MAX_NEIGHBOURS)


def gabriel(points: Grid) -> Edges:
    """Join points with no third in the closed disc between them, the lower number first: [2, E].

    Words with the very same center hang on each other in a chain, one of which stands for them in the graph.
    """
    if len(points) > FEW:
        triangulation = Delaunay(np.concatenate([points, _far_corners(points)]))
        edges = _sides_of_empty_discs(points, triangulation)
        if len(triangulation.coplanar) == 0:
            return edges
        left_out, _, corner = triangulation.coplanar.T  # points that Qhull took for their nearest corner
        if (points[left_out] == points[corner]).all() or len(points) > TOO_MANY:
            return np.concatenate([edges, _chain(corner, left_out)], axis=1)
    return _with_twins(points, _gabriel_by_midpoints)


def _far_corners(points: Grid) -> Grid:
    """Give a triangle around all points, farther away than any disc between two of them reaches: [3, 2].

    With it, no side of the hull has many points on it, of which Qhull's time would be the square, nor are all points
    on one line, which it would refuse.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    side = max(int((high - low).max()), 1)
    corners: Grid = (low + high) // 2 + side * np.array([[0, 2], [-2, -2], [2, -2]])
    return corners


def _sides_of_empty_discs(points: Grid, triangulation: Delaunay) -> Edges:
    """Give the sides between points, and not to far corners, in whose disc there is no corner: [2, E]."""
    corners = triangulation.simplices.T.astype(np.int64)  # [3, T]
    # As complex numbers, whose product a·b̄ has the scalar product as its real part.
    at = (triangulation.points[:, 0] + 1j * triangulation.points[:, 1]).take(corners)
    side = at.take(_NEXT, axis=0) - at  # from each corner to the next: [3, T]
    # Two sides meet at a corner head to tail: unless their product is negative the angle is not acute, and the corner
    # lies in the disc over the side opposite to it.
    blocked = (side * side.take(_LAST, axis=0).conj()).real >= 0
    a, b = corners.take(_NEXT, axis=0), corners.take(_LAST, axis=0)
    count = len(triangulation.points)
    blocked |= np.maximum(a, b) >= len(points)
    # A side stands in one or two triangles. Sorted with the verdict as the last bit, its last entry is the verdict.
    coded = ((np.minimum(a, b) * count + np.maximum(a, b)) * 2 + blocked).ravel()
    coded.sort()
    pair = coded >> 1
    free = (coded & 1) == 0
    free[:-1] &= pair[:-1] != pair[1:]
    return _pairs(pair[free], count)


_NEXT, _LAST = np.array([1, 2, 0]), np.array([2, 0, 1])


def _gabriel_by_midpoints(points: Grid) -> Edges:
    """Join distinct points pair by pair: for few of them, and where a triangulation is not to be had.

    Of the three points nearest to the middle of two, one is a third; the disc is empty unless it lies inside.
    """
    low, high = np.triu_indices(len(points), 1)
    if len(points) < 3:
        return np.stack([low, high])
    nearest = KDTree(points).query((points[low] + points[high]) / 2, k=3)[1]  # [pairs, 3]
    third = np.where((nearest == low[:, None]) | (nearest == high[:, None]), -1, nearest).max(axis=1)
    inside = ((points[low] - points[third]) * (points[high] - points[third])).sum(axis=1) <= 0
    return np.stack([low[~inside], high[~inside]])


def _with_twins(points: Grid, join: Callable[[Grid], Edges]) -> Edges:
    """Join distinct points and hang the others on those that stand where they do."""
    _, first, place = np.unique(points, axis=0, return_index=True, return_inverse=True)
    twins = np.setdiff1d(np.arange(len(points)), first)
    return np.concatenate([np.sort(first[join(points[first])], axis=0), _chain(first[place[twins]], twins)], axis=1)


def _chain(anchors: NDArray[np.integer], twins: NDArray[np.integer]) -> Edges:
    """Hang twins on their anchor one after the other, so that none has many neighbors: [2, L]."""
    order = np.lexsort((twins, anchors))
    anchors, twins = anchors[order], twins[order]
    previous = np.where(np.diff(anchors, prepend=-1) == 0, np.roll(twins, 1), anchors)
    return np.sort(np.stack([previous, twins]), axis=0).astype(np.int64)


def capped(points: Grid, edges: Edges, most: int = MAX_NEIGHBOURS) -> Edges:
    """Take the longest edges from words with too many, but never one of the minimum spanning tree.

    In the plane no point has more than six edges of the tree, so the cap can always be met without cutting the graph.
    """
    count = len(points)
    degree = np.bincount(edges.ravel(), minlength=count)
    if degree.max(initial=0) <= most:
        return edges
    low, high = edges
    length = ((points[low] - points[high]) ** 2).sum(axis=1)
    # Edges of one length are told apart by where they are, so that the order of words decides nothing.
    place = np.sort(points[:, 0][edges] * (2 * GRID) + points[:, 1][edges], axis=0)
    rank = np.empty(len(low))
    rank[np.lexsort((place[1], place[0], length))] = np.arange(1, len(low) + 1)
    tree = minimum_spanning_tree(coo_array((rank, (low, high)), shape=(count, count)))
    in_tree = np.isin(low * count + high, np.ravel_multi_index(tree.nonzero(), (count, count)))
    crowded = degree > most
    loose = np.flatnonzero(~in_tree & (crowded[low] | crowded[high]))
    keep = np.ones(len(low), np.bool_)
    for edge in loose[np.argsort(-rank[loose])].tolist():
        ends = edges[:, edge]
        if (degree[ends] > most).any():
            keep[edge] = False
            degree[ends] -= 1
    return edges[:, keep]


def both_ways(edges: Edges, count: int) -> Edges:
    """Give every edge in both directions, sorted by where it starts: [2, 2E]."""
    low, high = edges
    coded = np.concatenate([low * count + high, high * count + low])
    coded.sort()
    return _pairs(coded, count)


def _pairs(coded: NDArray[np.int64], count: int) -> Edges:
    pairs = np.empty((2, len(coded)), np.int64)
    np.floor_divide(coded, max(count, 1), out=pairs[0])
    np.subtract(coded, pairs[0] * count, out=pairs[1])
    return pairs


def node_features(shares: NDArray[np.float64]) -> NDArray[np.float32]:
    """Give the four corners clockwise from the top left, then width and height, as shares of the page: [N, 10]."""
    features = np.empty((NODE_FEATURES, shares.shape[1]), np.float32)
    features[:8] = shares.take(_CORNERS, axis=0)
    features[8:] = shares[2:] - shares[:2]
    return features.T


_CORNERS = np.array([0, 1, 2, 1, 2, 3, 0, 3])


def edge_features(shares: NDArray[np.float64], edges: Edges, proportion: float) -> NDArray[np.float32]:
    """Give the paper's attributes of directed edges k → l, from boxes as shares of the page [4, N]: [E, 11].

    From k to l: between centers (x, y), top left corners, bottom right corners; the shortest distance between the boxes
    along x and along y. Then height over width of k, of l, and of the box that covers both, in the page's proportion.
    """
    start, stop = edges
    one, other = shares.take(start, axis=1), shares.take(stop, axis=1)  # [4, E]
    features = np.empty((EDGE_FEATURES, len(start)), np.float32)
    corners = other - one
    features[0:2] = (corners[:2] + corners[2:]) / 2
    features[2:6] = corners
    outer, inner = np.minimum(one, other), np.maximum(one, other)
    features[6:8] = np.maximum(inner[:2] - outer[2:], 0)
    extent = shares[2:] - shares[:2]
    aspect = extent[1] / extent[0] * proportion
    features[8], features[9] = aspect.take(start), aspect.take(stop)
    covering = inner[2:] - outer[:2]
    features[10] = covering[1] / covering[0] * proportion
    return features.T


def neighbors(graph: PageGraph) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Give each word's neighbors, padded with −1, and the features of the edges to them: [N, 8], [N, 8, 11]."""
    start, stop = graph.edges
    count = len(graph.nodes)
    slot = np.arange(len(start)) - np.searchsorted(start, np.arange(count))[start]
    table = np.full((count, MAX_NEIGHBOURS), -1, np.int64)
    features = np.zeros((count, MAX_NEIGHBOURS, EDGE_FEATURES), np.float32)
    table[start, slot] = stop
    features[start, slot] = graph.edge_features
    return table, features
