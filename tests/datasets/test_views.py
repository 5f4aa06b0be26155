import numpy as np
import pytest
from PIL import Image

from formnet.datasets.views import MAX_SHIFT, change_view
from formnet.io.images import turn
from paper import picture


def test_change_view_turns_clockwise() -> None:
    image = picture()
    assert change_view(image, "upright", "a") is image
    for degrees in ("90", "180", "270"):
        assert np.array_equal(change_view(image, degrees, "a"), turn(image, int(degrees)))  # type: ignore[arg-type]


@pytest.mark.parametrize("view", ["tilted", "perspective"])
def test_change_view_depends_on_the_seed_alone(view: str) -> None:
    first, again, other = (np.asarray(change_view(picture(), view, seed)) for seed in ("a", "a", "b"))  # type: ignore[arg-type]
    assert np.array_equal(first, again)
    assert first.shape != other.shape or not np.array_equal(first, other)


def test_perspective_moves_corners_inward() -> None:
    gray = np.asarray(change_view(Image.new("RGB", (400, 600), "black"), "perspective", "a").convert("L"))
    rows, columns = np.nonzero(gray < 128)
    assert gray.shape == (600, 400)
    assert (gray[0, 0], gray[-1, -1]) == (255, 255)
    assert rows.min() <= MAX_SHIFT * 600
    assert columns.min() <= MAX_SHIFT * 400
    assert gray[300, 200] == 0
