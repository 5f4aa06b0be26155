import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from formnet.document.builder import DocumentBuilder
from formnet.document.reading_order import raster, reorder


def form() -> "DocumentBuilder":
    builder = DocumentBuilder("form")
    builder.add_page(["right", "left", "below"], [[50, 1, 60, 11], [0, 0, 10, 10], [0, 20, 10, 30]], 100, 100)
    builder.add_page(["second"], [[0, 0, 10, 10]], 100, 100)
    builder.add_entity("pair", [1, 0])
    return builder


def test_raster_order_reads_line_by_line_and_keeps_entities() -> None:
    document = reorder(form().build(), "raster")
    assert document.texts == ("left", "right", "below", "second")
    assert document.entities[0].words == (0, 1)
    assert document.entities[0].text == "left right"


def test_shuffling_is_the_same_for_the_same_seed_and_stays_on_the_page() -> None:
    document = form().build()
    orders = [reorder(document, "shuffled", seed).texts for seed in range(20)]
    assert reorder(document, "shuffled", 3).texts == orders[3]
    assert len(set(orders)) > 3
    assert all(order[3] == "second" for order in orders)
    moved = reorder(document, "shuffled", 1)
    assert [moved.texts[i] for i in moved.entities[0].words] == ["left", "right"]


def test_a_logo_does_not_swallow_the_lines_beside_it() -> None:
    lines = [[40, 12 * i, 60, 12 * i + 10] for i in range(5)]
    order = raster(np.array([[0, 0, 30, 60], *lines], float))
    assert [i for i in order.tolist() if i > 0] == [1, 2, 3, 4, 5]


@given(arrays(np.float64, st.tuples(st.integers(0, 30), st.just(4)), elements=st.floats(0, 1000)))
def test_raster_order_is_a_permutation(boxes: np.ndarray) -> None:
    assert sorted(raster(boxes).tolist()) == list(range(len(boxes)))
