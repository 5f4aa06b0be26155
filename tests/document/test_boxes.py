import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from formnet.document import Page
from formnet.document.boxes import (
    Boxes,
    infer_page_size,
    level_boxes,
    line_boxes,
    raster_order,
    repair_boxes,
    rotate_boxes,
)

coordinates = st.floats(-1e6, 1e6, allow_nan=False)


def test_line_boxes_two_lines_returns_one_box_each() -> None:
    boxes = np.array([[50, 0, 90, 10], [92, 1, 99, 11], [0, 20, 30, 30.0]])
    assert line_boxes(boxes) == ((50, 0, 99, 11), (0, 20, 30, 30))


@given(arrays(np.float64, st.tuples(st.integers(0, 20), st.just(4)), elements=coordinates))
def test_repair_boxes_any_input_has_area_within_page(boxes: np.ndarray) -> None:
    repaired, errors = repair_boxes(boxes, 612.0, 792.0)
    assert (repaired[:, :2] < repaired[:, 2:]).all()
    assert (repaired >= 0).all()
    assert (repaired[:, 2:] <= (612.0, 792.0)).all()
    valid = ~(errors.inverted | errors.outside | errors.flat)
    assert np.array_equal(repaired[valid], boxes[valid])


@given(arrays(np.float64, st.tuples(st.integers(0, 20), st.just(4)), elements=coordinates))
def test_infer_page_size_any_input_contains_boxes(boxes: np.ndarray) -> None:
    width, height = infer_page_size(boxes)
    assert width >= 1
    assert height >= 1
    assert (boxes.reshape(-1, 2) <= (width, height)).all()


def test_raster_order_logo_keeps_adjacent_lines_apart() -> None:
    lines = [[40, 12 * i, 60, 12 * i + 10] for i in range(5)]
    order = raster_order(np.array([[0, 0, 30, 60], *lines], float))
    assert [i for i in order.tolist() if i > 0] == [1, 2, 3, 4, 5]


@given(arrays(np.float64, st.tuples(st.integers(0, 30), st.just(4)), elements=st.floats(0, 1000)))
def test_raster_order_any_input_returns_permutation(boxes: np.ndarray) -> None:
    assert sorted(raster_order(boxes).tolist()) == list(range(len(boxes)))


@given(st.sampled_from([0, 90, 180, 270]), st.sampled_from([0, 90, 180, 270]))
def test_rotate_boxes_turns_add_up(first: int, second: int) -> None:
    boxes = np.array([[10.0, 0.0, 30.0, 5.0], [1.0, 2.0, 3.0, 4.0]])
    once = rotate_boxes(boxes, first, 100, 50)
    size = (100, 50) if first % 180 == 0 else (50, 100)
    assert np.array_equal(rotate_boxes(once, second, *size), rotate_boxes(boxes, first + second, 100, 50))
    assert (once[:, :2] < once[:, 2:]).all()


def tilted_grid(degrees: float) -> tuple[Boxes, Boxes]:
    """Return the boxes of six lines of words, level and tilted."""
    words = np.array([[20 + 70 * column, 30 + 25 * row, 80 + 70 * column, 42 + 25 * row]
                      for row in range(6) for column in range(5)], float)  # fmt: skip
    cos, sin = np.cos(np.deg2rad(degrees)), np.sin(np.deg2rad(degrees))
    centers, half = (words[:, :2] + words[:, 2:]) / 2, (words[:, 2:] - words[:, :2]) / 2
    middle = centers.mean(axis=0)
    centers = (centers - middle) @ np.array([[cos, sin], [-sin, cos]]) + middle
    half = half @ np.array([[cos, abs(sin)], [abs(sin), cos]])
    return words, np.concatenate([centers - half, centers + half], axis=1)


@pytest.mark.parametrize("degrees", [-10, -4, 3, 10])
def test_level_boxes_undoes_tilt(degrees: float) -> None:
    words, tilted = tilted_grid(degrees)
    assert np.allclose(level_boxes(tilted), words, atol=0.5)


@pytest.mark.parametrize("degrees", [-2, 0, 1])
def test_level_boxes_leaves_level_text_alone(degrees: float) -> None:
    _, boxes = tilted_grid(degrees)
    assert level_boxes(boxes) is boxes


def test_level_boxes_random_order_is_not_tilt() -> None:
    words, _ = tilted_grid(0)
    for seed in range(1000):
        generator = np.random.default_rng(seed)
        shuffled = generator.permutation(words + np.tile(generator.uniform(0, 6, (len(words), 2)), 2))
        assert level_boxes(shuffled) is shuffled
    for few in (words[:2], words[:0]):
        assert level_boxes(few) is few


def test_level_boxes_words_that_disagree_are_not_tilted() -> None:
    for seed in range(50):
        generator = np.random.default_rng(seed)
        x = generator.uniform(0, 300, 20)
        y = 10.0 * np.arange(20)
        ragged = np.stack([x, y, x + 60, y + 14], axis=1)  # one word per line, and boxes that overlap
        assert level_boxes(ragged) is ragged


def test_level_page_keeps_words_on_the_page() -> None:
    words, tilted = tilted_grid(10)
    tilted -= np.tile(tilted[:, :2].min(axis=0), 2)
    page = Page(*tilted[:, 2:].max(axis=0).tolist(), ("word",) * len(words), tilted)
    level = page.level()
    assert (level.boxes >= 0).all()
    assert (level.boxes[:, 2:] <= (level.width, level.height)).all()
    flat = Page(400, 200, ("word",) * len(words), words)
    assert flat.level() is flat
