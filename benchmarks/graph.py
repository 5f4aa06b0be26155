"""Cost of the page graph relative to the Delaunay triangulation it starts from, and its growth with page size."""

from time import perf_counter
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

from formnet.datasets import open_corpus
from formnet.encoding.graph import BRUTE_FORCE_POINTS, box_graph, quantize_centers

SIZES = (1_000, 10_000, 100_000)


def benchmark(corpus: str, repeats: int, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Time both alternately on each page, so that other load slows both, and return medians over repeats."""
    pages = [
        page for document in open_corpus(corpus) for page in document.pages if len(page.texts) > BRUTE_FORCE_POINTS
    ]
    points = [quantize_centers(page.boxes).astype(np.float64) for page in pages]
    ratios, delaunay_times, graph_times = [], [], []
    for _ in range(repeats):
        delaunay_seconds = graph_seconds = 0.0
        for page, centers in zip(pages, points, strict=True):
            start = perf_counter()
            Delaunay(centers)
            middle = perf_counter()
            box_graph(page.boxes, page.width, page.height)
            graph_seconds += perf_counter() - middle
            delaunay_seconds += middle - start
        ratios.append(graph_seconds / delaunay_seconds)
        delaunay_times.append(delaunay_seconds / len(pages))
        graph_times.append(graph_seconds / len(pages))
    return {
        "ratio_to_delaunay": float(np.median(ratios)),
        "ratio_spread": [min(ratios), max(ratios)],
        "milliseconds_per_page": {
            "delaunay": float(np.median(delaunay_times)) * 1e3,
            "graph": float(np.median(graph_times)) * 1e3,
        },
        "pages": len(pages),
        "points": list(sizes),
        "seconds": [time_random_page(count) for count in sizes],
    }


def time_random_page(words: int) -> float:
    """Return the seconds to build the graph of a page of random words with the density of text; best of three."""
    generator = np.random.default_rng(0)
    side = 30.0 * np.sqrt(words)
    corner = generator.uniform(0, side, (words, 2))
    boxes = np.concatenate([corner, corner + generator.uniform(5, 30, (words, 2))], axis=1)
    times = []
    for _ in range(3):
        start = perf_counter()
        box_graph(boxes, side + 30, side + 30)
        times.append(perf_counter() - start)
    return min(times)
