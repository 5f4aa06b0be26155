import numpy as np
import pytest

from formnet.io.ocr.rapid import sort_lines


@pytest.mark.parametrize("slope", [-0.06, 0.0, 0.06])
def test_sort_lines_skewed_page_keeps_line_order(slope: float) -> None:
    quads = []
    for row in range(6):
        for x0, x1 in ((40, 300), (620, 700)):
            y = 40 + 36 * row
            quads.append([[x, y + h + slope * x] for x, h in ((x0, 0), (x1, 0), (x1, 24), (x0, 24))])
    shuffled = np.random.default_rng(0).permutation(len(quads))
    order = sort_lines(np.array(quads)[shuffled])
    assert shuffled[order].tolist() == list(range(len(quads)))
