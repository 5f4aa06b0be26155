"""How much the whole graph costs over the triangulation that it starts from, and how it grows."""

from time import perf_counter
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

from formnet.datasets import open_corpus
from formnet.encoding.graph import FEW, box_graph, on_grid

SIZES = (1_000, 10_000, 100_000)


def benchmark(corpus: str, repeats: int, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Time both on each page in turn, so that whatever slows the machine slows both; give medians over repeats."""
    pages = [page for document in open_corpus(corpus) for page in document.pages if len(page.texts) > FEW]
    points = [on_grid(page.boxes).astype(np.float64) for page in pages]
    ratios, bare_times, whole_times = [], [], []
    for _ in range(repeats):
        bare = whole = 0.0
        for page, centers in zip(pages, points, strict=True):
            start = perf_counter()
            Delaunay(centers)
            between = perf_counter()
            box_graph(page.boxes, page.width, page.height)
            whole += perf_counter() - between
            bare += between - start
        ratios.append(whole / bare)
        bare_times.append(bare / len(pages))
        whole_times.append(whole / len(pages))
    return {
        "ratio_to_delaunay": float(np.median(ratios)),
        "ratio_spread": [min(ratios), max(ratios)],
        "milliseconds_per_page": {
            "delaunay": float(np.median(bare_times)) * 1e3,
            "graph": float(np.median(whole_times)) * 1e3,
        },
        "pages": len(pages),
        "points": list(sizes),
        "seconds": [_seconds(count) for count in sizes],
    }


def _seconds(count: int) -> float:
    """Time the whole graph of random words on one page, as dense as text is."""
    generator = np.random.default_rng(0)
    side = 30.0 * np.sqrt(count)
    corner = generator.uniform(0, side, (count, 2))
    boxes = np.concatenate([corner, corner + generator.uniform(5, 30, (count, 2))], axis=1)
    times = []
    for _ in range(3):
        start = perf_counter()
        box_graph(boxes, side + 30, side + 30)
        times.append(perf_counter() - start)
    return min(times)
