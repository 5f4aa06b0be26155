"""Conversion of documents to tasks, and the labeling configuration for them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.sax.saxutils import quoteattr

from formnet.document import Document, Entity, Page
from formnet.document.boxes import Box
from formnet.errors import LabelError

#: URL prefix under which Label Studio serves local files.
LOCAL_FILES = "/data/local-files/?d="

_COLORS = (
    "#d62728",
    "#1f77b4",
    "#2ca02c",
    "#9467bd",
    "#ff7f0e",
    "#17becf",
    "#e377c2",
    "#8c564b",
    "#bcbd22",
    "#7f7f7f",
)
_INVALID_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def to_task(
    document: Document,
    *,
    model_version: str | None = None,
    images: str | None = None,
    scans: Sequence[Path | None] | None = None,
) -> dict[str, Any]:
    """Convert a document to a task. Entities become annotations, or predictions if `model_version` is given.

    The task contains the document itself, so that `from_task` restores it without loss. A document without entities
    yields a task without annotations. `images` is the URL prefix of the image file names; without it, URLs refer to
    local file serving, whose document root must then be `/`. `scans` are images to show instead of the files of the
    pages, which may be PDFs.
    """
    files = [page.image for page in document.pages] if scans is None else scans
    urls = [_url(file, images) for file in files]
    task: dict[str, Any] = {
        "data": {"ocr": urls[0] if urls else "", "pages": urls, "formnet": document.to_json()},
    }
    result = [part for number, entity in enumerate(document.entities) for part in _results(document, number, entity)]
    for question, answer in document.links:
        ends = {"from_id": region_id(question), "to_id": region_id(answer)}
        result.append({"type": "relation", **ends, "direction": "right", "labels": []})
    if result and model_version is None:
        task["annotations"] = [{"result": result, "was_canceled": False, "ground_truth": False}]
    elif result:
        scores = [entity.score for entity in document.entities if entity.score is not None]
        mean = {"score": sum(scores) / len(scores)} if scores else {}
        task["predictions"] = [{"model_version": model_version, **mean, "result": result}]
    return task


def labeling_config(labels: Iterable[str], *, several_pages: bool = False) -> str:
    """Return the Label Studio configuration for tasks: labeled rectangles with their text.

    >>> print(labeling_config(["total"]))
    <View>
      <RectangleLabels name="label" toName="image">
        <Label value="total" background="#d62728"/>
      </RectangleLabels>
      <Image name="image" value="$ocr" zoom="true"/>
      <TextArea name="transcription" toName="image" perRegion="true" editable="true" displayMode="region-list"/>
    </View>
    """
    rows = []
    for number, label in enumerate(dict.fromkeys(labels)):
        if not label.strip() or _INVALID_XML.search(label):
            raise LabelError(f"label {label!r}: cannot be written as XML. Rename the label.")
        rows.append(f'    <Label value={quoteattr(label)} background="{_COLORS[number % len(_COLORS)]}"/>\n')
    if not rows:
        raise LabelError("labeling configuration: no labels given. Add at least one label.")
    source = 'valueList="$pages"' if several_pages else 'value="$ocr"'
    return (
        "<View>\n"
        '  <RectangleLabels name="label" toName="image">\n'
        f"{''.join(rows)}"
        "  </RectangleLabels>\n"
        f'  <Image name="image" {source} zoom="true"/>\n'
        '  <TextArea name="transcription" toName="image" perRegion="true" editable="true" displayMode="region-list"/>\n'
        "</View>"
    )


def region_id(entity: int) -> str:
    """Return the region id for the index of an entity."""
    return f"entity-{entity}"


def relative_box(entity: Entity, page: Page) -> Box:
    """Return the bounding box of an entity relative to the size of its page."""
    x0, y0, x1, y1 = zip(*entity.boxes, strict=True)
    return min(x0) / page.width, min(y0) / page.height, max(x1) / page.width, max(y1) / page.height


def _results(document: Document, number: int, entity: Entity) -> Iterator[dict[str, Any]]:
    page = document.pages[entity.page]
    x0, y0, x1, y1 = (100 * share for share in relative_box(entity, page))
    box = {"x": x0, "y": y0, "width": x1 - x0, "height": y1 - y0, "rotation": 0}
    common: dict[str, Any] = {
        "id": region_id(number),
        "to_name": "image",
        "original_width": max(round(page.width), 1),
        "original_height": max(round(page.height), 1),
        "image_rotation": 0,
        "item_index": entity.page,
    }
    if entity.score is not None:
        common["score"] = entity.score
    label, text = {**box, "rectanglelabels": [entity.label]}, {**box, "text": [entity.text]}
    yield {**common, "type": "rectanglelabels", "from_name": "label", "value": label}
    yield {**common, "type": "textarea", "from_name": "transcription", "value": text}


def _url(file: Path | None, images: str | None) -> str:
    if file is None:
        return ""
    if images is None:
        return LOCAL_FILES + quote(file.absolute().as_posix().lstrip("/"))
    return images + quote(file.name)
