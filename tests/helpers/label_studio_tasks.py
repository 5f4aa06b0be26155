"""Documents, regions and tasks for tests of the Label Studio conversion."""

from pathlib import Path
from typing import Any

from formnet.document import Document
from formnet.document.builder import DocumentBuilder


def make_receipt() -> Document:
    """Return a receipt with two entities and a link."""
    builder = DocumentBuilder("receipt")
    builder.add_page(
        ["Total", "9.00", "Paid", "9.00"],
        [[100, 100, 300, 150], [400, 100, 500, 150], [100, 200, 300, 250], [400, 200, 500, 250]],
        1000,
        2000,
        image=Path("/scans/receipt.png"),
    )
    builder.add_entity("key", [0], 0.5)
    builder.add_entity("total", [1], 0.75)
    builder.add_link(0, 1)
    return builder.build()


def make_region(name: str, x: float, y: float, width: float, height: float, **more: Any) -> dict[str, Any]:
    """Return one result of an annotation, with labels or text if given."""
    value: dict[str, Any] = {"x": x, "y": y, "width": width, "height": height, "rotation": more.pop("rotation", 0)}
    kind = "rectangle"
    if "labels" in more:
        kind, value["rectanglelabels"] = "rectanglelabels", more.pop("labels")
    if "text" in more:
        kind, value["text"] = "textarea", more.pop("text")
    return {"id": name, "type": kind, "value": value, "original_width": 1000, "original_height": 500, **more}


def make_task(*result: Any, **more: Any) -> dict[str, Any]:
    """Return an annotated task that contains no document."""
    data = {"ocr": "/data/upload/3/0a1b2c3d-slip%201.png"}
    return {"id": 7, "data": data, "annotations": [{"id": 1, "result": list(result)}], **more}
