import math

import pytest

from formnet.io.label_studio import from_task
from label_studio_tasks import make_region, make_task


def test_regions_polygon_on_repeated_image_becomes_box_on_page() -> None:
    shape = {"points": [[10, 10], [20, 12], [15, 20]]}
    size = {"original_width": 100, "original_height": 100, "to_name": "page_1"}
    task = make_task(
        {"type": "polygonlabels", "id": "a", "value": {**shape, "polygonlabels": ["x"]}, **size},
        {"type": "textarea", "id": "a", "value": {**shape, "text": ["word"]}, **size},
    )
    document = from_task(task)
    assert [page.texts for page in document.pages] == [(), ("word",)]
    assert document.boxes.tolist() == [[10, 10, 20, 20]]


@pytest.mark.parametrize("angle", [90, 180, 270, -90, 45])
def test_regions_rotated_rectangle_becomes_bounding_box(angle: float) -> None:
    document = from_task(make_task(make_region("a", 50, 50, 10, 4, text=["x"], rotation=angle)))
    width, height = 100.0, 20.0  # in pixels of 1000 × 500
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    xs = [500 + x * cos - y * sin for x, y in ((0, 0), (width, 0), (width, height), (0, height))]
    ys = [250 + x * sin + y * cos for x, y in ((0, 0), (width, 0), (width, height), (0, height))]
    assert document.boxes[0].tolist() == pytest.approx([min(xs), min(ys), max(xs), max(ys)])
