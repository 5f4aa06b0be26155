import json
from itertools import pairwise
from pathlib import Path

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given, settings
from hypothesis import strategies as st

from formnet import DocumentBuilder
from formnet.document import Document
from formnet.errors import LabelError
from formnet.io import images
from formnet.io.label_studio import from_task, is_labeled, labeling_config, to_task
from formnet.io.readers import read_one
from formnet.io.writers import write
from label_studio_tasks import make_receipt
from paper import text_pdf

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
sides = st.integers(20, 3000)


@st.composite
def labeled_documents(draw: st.DrawFn) -> Document:
    """Generate documents of up to two pages with entities that may overlap or share a box."""
    builder = DocumentBuilder(draw(names))
    starts = [0]
    for _ in range(draw(st.integers(0, 2))):
        width, height = draw(sides), draw(sides)
        corner = st.tuples(st.integers(0, width - 8), st.integers(0, height - 8))
        boxes = [(x, y, x + 7, y + 5) for x, y in draw(st.lists(corner, max_size=5))]
        texts = draw(st.lists(names.filter(str.strip), min_size=len(boxes), max_size=len(boxes)))
        image = draw(st.sampled_from([None, Path("/scans/a b.png")]))
        builder.add_page(texts, boxes, width, height, image=image, frame=draw(st.integers(0, 3)))
        starts.append(starts[-1] + len(boxes))
    count = 0
    for first, last in pairwise(starts):
        for _ in range(draw(st.integers(0, 3)) if last > first else 0):
            words = draw(st.lists(st.integers(first, last - 1), min_size=1, unique=True))
            builder.add_entity(draw(names), words, draw(st.sampled_from([None, 0.25, 1.0])))
            count += 1
    ends = st.tuples(st.integers(0, count - 1), st.integers(0, count - 1))
    for link in draw(st.lists(ends, max_size=3)) if count else []:
        builder.add_link(*link)
    return builder.build(draw(st.dictionaries(names, names, max_size=2)))


@settings(max_examples=50)
@given(labeled_documents(), st.sampled_from([None, "model 1"]))
def test_to_task_round_trip_preserves_document(document: Document, model_version: str | None) -> None:
    task = json.loads(json.dumps(to_task(document, model_version=model_version)))
    restored = from_task(task, base=Path("/"))
    assert restored == document
    assert restored.repairs == ()
    if document.entities:
        assert is_labeled(task) == (model_version is None)
        regions = task["annotations" if model_version is None else "predictions"][0]["result"]
        assert len(regions) == 2 * len(document.entities) + len(document.links)


def test_to_task_prediction_matches_label_studio_format() -> None:
    task = to_task(make_receipt(), model_version="formnet 1")
    assert task["data"]["ocr"] == "/data/local-files/?d=scans/receipt.png"
    prediction = task["predictions"][0]
    assert (prediction["model_version"], prediction["score"]) == ("formnet 1", 0.625)
    assert prediction["result"][2] == {
        "id": "entity-1",
        "type": "rectanglelabels",
        "from_name": "label",
        "to_name": "image",
        "original_width": 1000,
        "original_height": 2000,
        "image_rotation": 0,
        "item_index": 0,
        "score": 0.75,
        "value": {"x": 40, "y": 5, "width": 10, "height": 2.5, "rotation": 0, "rectanglelabels": ["total"]},
    }
    assert prediction["result"][3]["value"]["text"] == ["9.00"]
    assert prediction["result"][4] == {
        "type": "relation", "from_id": "entity-0", "to_id": "entity-1", "direction": "right", "labels": [],
    }  # fmt: skip
    assert to_task(make_receipt(), images="https://x/?f=")["data"]["pages"] == ["https://x/?f=receipt.png"]


def test_labeling_config_escapes_labels_as_xml() -> None:
    labels = ["total", 'a "b" <c> & d', "total", "größe"]
    view = fromstring(labeling_config(labels, several_pages=True))
    assert [label.get("value") for label in view.iter("Label")] == list(dict.fromkeys(labels))
    assert view.find("Image").get("valueList") == "$pages"
    for labels in ([], [""], ["\0"], ["\ud800"]):
        with pytest.raises(LabelError):
            labeling_config(labels)


def test_write_tasks_of_pdf_renders_pages(tmp_path: Path) -> None:
    (tmp_path / "two.pdf").write_bytes(text_pdf([("Total 9",), ("Page two",)]))
    document = read_one(tmp_path / "two.pdf")
    out = tmp_path / "tasks.label-studio.json"
    write([document], out, images="https://scans/")
    (task,) = json.loads(out.read_text())
    assert task["data"]["pages"] == ["https://scans/two.pdf-1.png", "https://scans/two.pdf-2.png"]
    assert [images.load_frame(file).width > 1000 for file in sorted((tmp_path / "tasks-pages").iterdir())] == [
        True,
        True,
    ]
    assert from_task(task, base=tmp_path).pages == document.pages
