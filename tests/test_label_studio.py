import copy
import json
import math
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from defusedxml.ElementTree import fromstring
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from formnet import DocumentBuilder, open_corpus, read
from formnet.cli import app
from formnet.document import Document
from formnet.errors import CorpusError, DocumentError, FormNetError, LabelError, LimitError
from formnet.io import images
from formnet.io.label_studio import documents, from_task, is_labeled, labeling_config, load_tasks, to_task
from formnet.io.readers import read_one
from formnet.io.writers import write
from paper import text_pdf

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
sides = st.integers(20, 3000)


@st.composite
def labeled_documents(draw: st.DrawFn) -> Document:
    """Any document of up to two pages, with entities that may overlap or share a box."""
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
def test_a_document_comes_back_as_it_was(document: Document, model_version: str | None) -> None:
    task = json.loads(json.dumps(to_task(document, model_version=model_version)))
    again = from_task(task, base=Path("/"))
    assert again == document
    assert again.repairs == ()
    if document.entities:
        assert is_labeled(task) == (model_version is None)
        regions = task["annotations" if model_version is None else "predictions"][0]["result"]
        assert len(regions) == 2 * len(document.entities) + len(document.links)


def receipt() -> Document:
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


def test_regions_are_as_label_studio_has_them() -> None:
    task = to_task(receipt(), model_version="formnet 1")
    assert task["data"]["ocr"] == "/data/local-files/?d=scans/receipt.png"
    guess = task["predictions"][0]
    assert (guess["model_version"], guess["score"]) == ("formnet 1", 0.625)
    assert guess["result"][2] == {
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
    assert guess["result"][3]["value"]["text"] == ["9.00"]
    assert guess["result"][4] == {
        "type": "relation", "from_id": "entity-0", "to_id": "entity-1", "direction": "right", "labels": [],
    }  # fmt: skip
    assert to_task(receipt(), images="https://x/?f=")["data"]["pages"] == ["https://x/?f=receipt.png"]


def test_what_people_change_is_taken() -> None:
    task = to_task(receipt())
    result = task["annotations"][0]["result"]
    result[0]["value"]["rectanglelabels"] = ["question"]  # another label
    for part in result[2:4]:  # moved to the line below, text left as it was
        part["value"]["y"] = 10.0
    result.append(region("new", 9, 9, 25, 4, labels=["paid"]))
    result.append(region("empty", 0, 0, 5, 1, labels=["nothing"]))
    result.append({"type": "relation", "from_id": "new", "to_id": "empty", "direction": "left"})
    result.append({"type": "relation", "from_id": "new", "to_id": "gone"})
    document = from_task(task)
    assert [(e.label, e.words, e.score) for e in document.entities] == [
        ("question", (0,), None), ("total", (3,), None), ("paid", (2,), None),
    ]  # fmt: skip
    assert document.links == ((0, 1),)
    assert [repair.kind for repair in document.repairs] == [
        "empty entity dropped", "link to an empty entity dropped", "link to a region without label dropped",
    ]  # fmt: skip
    result[3]["value"]["text"] = ["9,00"]
    assert "'9.00' → '9,00'" in str(from_task(task).repairs[2])


def test_ids_may_change_as_long_as_boxes_do_not() -> None:
    task = to_task(receipt())
    for part in task["annotations"][0]["result"]:
        for key in ("id", "from_id", "to_id"):
            if key in part:
                part[key] = f"x{part[key]}#17"
    assert from_task(task, base=Path("/")) == receipt()


def region(name: str, x: float, y: float, width: float, height: float, **more: Any) -> dict[str, Any]:
    value: dict[str, Any] = {"x": x, "y": y, "width": width, "height": height, "rotation": more.pop("rotation", 0)}
    kind = "rectangle"
    if "labels" in more:
        kind, value["rectanglelabels"] = "rectanglelabels", more.pop("labels")
    if "text" in more:
        kind, value["text"] = "textarea", more.pop("text")
    return {"id": name, "type": kind, "value": value, "original_width": 1000, "original_height": 500, **more}


def task_of(*result: Any, **more: Any) -> dict[str, Any]:
    data = {"ocr": "/data/upload/3/0a1b2c3d-slip%201.png"}
    return {"id": 7, "data": data, "annotations": [{"id": 1, "result": list(result)}], **more}


def test_regions_with_text_are_words() -> None:
    task = task_of(
        region("a", 10, 10, 70, 10, labels=["key"]),
        region("a", 10, 10, 70, 10, text=["to 9.00"]),
        region("b", 0, 40, 10, 20, text="one\ntwo"),
        region("around", 0, 46, 20, 20, labels=["second"]),
        {"type": "choices", "id": "c", "value": {"choices": ["good"]}},
        region("p2", 0, 0, 50, 100, text=["next page"], item_index=1),
        region("p2", 0, 0, 50, 100, labels=["other"], item_index=1),
        {"type": "textarea", "id": "remark", "value": {"text": ["on the whole"]}},
    )
    document = from_task(task)
    assert document.id == "slip 1"
    assert document.texts == ("to", "9.00", "one", "two", "next", "page")
    assert [(e.label, e.words, e.page) for e in document.entities] == [
        ("key", (0, 1), 0), ("second", (3,), 0), ("other", (4, 5), 1),
    ]  # fmt: skip
    assert document.boxes[:4].round(3).tolist() == [
        [100, 50, 300, 100], [400, 50, 800, 100], [0, 200, 100, 250], [0, 250, 100, 300],
    ]  # fmt: skip
    assert (document.pages[0].width, document.pages[0].height) == (1000, 500)


def test_repeated_images_are_pages_and_polygons_are_boxes() -> None:
    shape = {"points": [[10, 10], [20, 12], [15, 20]]}
    size = {"original_width": 100, "original_height": 100, "to_name": "page_1"}
    task = task_of(
        {"type": "polygonlabels", "id": "a", "value": {**shape, "polygonlabels": ["x"]}, **size},
        {"type": "textarea", "id": "a", "value": {**shape, "text": ["word"]}, **size},
    )
    document = from_task(task)
    assert [page.texts for page in document.pages] == [(), ("word",)]
    assert document.boxes.tolist() == [[10, 10, 20, 20]]


@pytest.mark.parametrize("angle", [90, 180, 270, -90, 45])
def test_turned_rectangles_get_the_box_around_them(angle: float) -> None:
    document = from_task(task_of(region("a", 50, 50, 10, 4, text=["x"], rotation=angle)))
    across, down = 100.0, 20.0  # in pixels of 1000 × 500
    cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    xs = [500 + x * cos - y * sin for x, y in ((0, 0), (across, 0), (across, down), (0, down))]
    ys = [250 + x * sin + y * cos for x, y in ((0, 0), (across, 0), (across, down), (0, down))]
    assert document.boxes[0].tolist() == pytest.approx([min(xs), min(ys), max(xs), max(ys)])


@pytest.mark.parametrize("name", ["slip 1", "slip 1.png", "0a1b2c3d-slip 1.png"])
def test_words_may_come_from_elsewhere(name: str) -> None:
    builder = DocumentBuilder(name)
    builder.add_page(["Total", "9.00", "Paid"], [[10, 10, 30, 14], [40, 10, 50, 14], [10, 20, 30, 24]], 100, 100)
    task = task_of(region("a", 35, 5, 30, 12, labels=["total"]), region("a", 35, 5, 30, 12, text=["9.00"]))
    document = from_task(task, {name: builder.build()})
    assert document.id == name
    assert [(e.label, e.text) for e in document.entities] == [("total", "9.00")]
    assert document.repairs == ()
    assert from_task(task).texts == ("9.00",)


def test_the_annotation_that_counts() -> None:
    def said(*annotations: dict[str, Any]) -> str:
        rows = [{**a, "result": [region("a", 0, 0, 9, 9, text=[f"{n}"])]} for n, a in enumerate(annotations)]
        return from_task(task_of(annotations=rows)).texts[0]

    assert said({}, {}) == "1"
    assert said({}, {"was_canceled": True}) == "0"
    assert said({}, {"ground_truth": True}, {}) == "1"
    assert not is_labeled(task_of(annotations=[{"was_canceled": True}]))
    assert not is_labeled({"data": {}})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"data": None}, "has no 'data'"),
        ({"data": {"formnet": 3}}, "a document is a JSON object"),
        ({"annotations": 3}, "should be a list of objects"),
        ({"annotations": [3]}, "should be a list of objects"),
        ({"annotations": [{}]}, "needs a 'result'"),
        ({"annotations": [{"result": ["x"]}]}, "needs a 'result'"),
        ({"annotations": None}, "nobody has labeled it"),
        ({"type": "labels", "value": {"start": 0, "end": 3, "labels": ["x"]}}, "no rectangle or polygon"),
        ({"id": 3}, "needs an 'id'"),
        ({"value": []}, "needs an 'id'"),
        ({"value": {"x": "a", "y": 0, "width": 1, "height": 1, "rectanglelabels": ["x"]}}, "'x' should be a number"),
        ({"value": {"x": 10**400, "y": 0, "width": 1, "height": 1, "rectanglelabels": ["x"]}}, "'x' should be"),
        ({"value": {"points": [[1]], "rectanglelabels": ["x"]}}, "list of pairs"),
        ({"value": {"points": [], "rectanglelabels": ["x"]}}, "no rectangle or polygon"),
        ({"value": {"x": 0, "y": 0, "width": 1, "height": 1, "rectanglelabels": [1]}}, "list of strings"),
        ({"value": {"x": 0, "y": 0, "width": 1, "height": 1}}, "'rectanglelabels' should be a list"),
        ({"value": {"x": 0, "y": 0, "width": 1, "height": 1, "rectanglelabels": ["\ud800"]}}, "surrogate"),
        ({"value": {"x": 0, "y": 0, "width": 1, "height": 1, "rectanglelabels": [""]}}, "empty label"),
        ({"item_index": -1}, "page should be a number"),
        ({"item_index": 10**9}, "page should be a number"),
        ({"original_width": 0.5}, "number of pixels"),
        ({"original_width": None}, "has no 'original_width'"),
        ({"image_rotation": 90}, "turn the scan"),
        ({"type": "relation"}, "'from_id'"),
        ({"type": "ellipselabels"}, "draw rectangles or polygons"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], says: str) -> None:
    item = region("a", 0, 0, 9, 9, labels=["x"])
    task = {**task_of(item), **change} if {"data", "annotations"} & change.keys() else task_of({**item, **change})
    with pytest.raises(DocumentError) as refusal:
        from_task(task)
    assert says in str(refusal.value)


def test_a_page_that_is_not_there_is_refused() -> None:
    task = to_task(receipt())
    task["annotations"][0]["result"].append(region("new", 0, 0, 9, 9, labels=["x"], item_index=1))
    with pytest.raises(DocumentError, match="on page 2, but there are 1"):
        from_task(task)


def test_large_tasks_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MOST_RESULTS", 2)
    with pytest.raises(LimitError, match="3 results"):
        from_task(task_of(*[region("a", 0, 0, 1, 1)] * 3))
    monkeypatch.setattr(documents, "LARGEST_FILE", 2)
    (tmp_path / "x.json").write_text("[{}]")
    with pytest.raises(LimitError, match="export it in parts"):
        load_tasks(tmp_path / "x.json")


plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just([]), st.just({}))
anything = st.recursive(plain, lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(names, inner)))


@settings(max_examples=200)
@given(st.data())
def test_hostile_tasks_are_refused_and_nothing_worse(data: st.DataObject) -> None:
    """Anything may stand anywhere in a task."""
    task: Any = copy.deepcopy(
        data.draw(st.sampled_from([to_task(receipt()), task_of(region("a", 0, 0, 9, 9, text="x"))]))
    )
    holder, key, here = None, None, task
    while isinstance(here, dict | list) and here and data.draw(st.integers(0, 5)):
        keys = sorted(here) if isinstance(here, dict) else range(len(here))
        holder, key = here, data.draw(st.sampled_from(keys))
        here = here[key]
    changed = data.draw(anything)
    if holder is None:
        task = changed
    else:
        holder[key] = changed
    is_labeled(task)
    with suppress(FormNetError):
        from_task(task)


def test_the_interface_is_xml() -> None:
    labels = ["total", 'a "b" <c> & d', "total", "größe"]
    view = fromstring(labeling_config(labels, several_pages=True))
    assert [label.get("value") for label in view.iter("Label")] == list(dict.fromkeys(labels))
    assert view.find("Image").get("valueList") == "$pages"
    for labels in ([], [""], ["\0"], ["\ud800"]):
        with pytest.raises(LabelError):
            labeling_config(labels)


def test_a_corpus_is_labeled_and_read_again(tmp_path: Path, examples: Path) -> None:
    source = list(read(examples / "documents.jsonl"))
    out = tmp_path / "train.label-studio.json"
    said = CliRunner().invoke(app, ["data", "convert", f"jsonl:{examples}", str(out), "--images", "http://x/"])
    assert "2 documents" in said.output
    assert sorted(file.name for file in tmp_path.iterdir()) == [out.name, "train.label-studio.xml"]
    assert 'value="total"' in (tmp_path / "train.label-studio.xml").read_text()
    corpus = open_corpus(f"label_studio:{out}")
    assert corpus.splits == ("train",)
    assert list(corpus) == list(open_corpus(f"label_studio:{tmp_path}@train")) == source


def test_only_what_people_labeled_is_a_corpus(tmp_path: Path) -> None:
    task = task_of(region("a", 0, 0, 50, 50, labels=["x"]))
    (tmp_path / "export.json").write_text(json.dumps([task, {"data": {}}, {"annotations": 3}]))
    words = DocumentBuilder("slip 1")
    words.add_page(["in", "out"], [[10, 10, 20, 20], [60, 60, 70, 70]], 100, 100)
    write([words.build()], tmp_path / "documents.jsonl")
    sources = list(open_corpus(f"label_studio:{tmp_path}").sources("export"))
    assert [source.number for source in sources] == [1, 3]
    corpus = open_corpus(f"label_studio:{tmp_path / 'export.json'}")
    assert [e.text for e in corpus.read(sources[0]).entities] == ["in"]
    with pytest.raises(DocumentError, match="task 3 of the list: "):
        corpus.read(sources[1])
    write([receipt()], tmp_path / "guesses.label-studio.json", model_version="m")
    with pytest.raises(CorpusError, match="nobody has labeled any of its 1 tasks"):
        list(open_corpus(f"label_studio:{tmp_path}@guesses"))
    (tmp_path / "export.json").write_text('{"a": 1}')
    with pytest.raises(DocumentError, match="no list of tasks"):
        list(corpus)
    (tmp_path / "export.json").write_text("[" * 100_000)
    with pytest.raises(DocumentError, match="not JSON"):
        list(corpus)


def test_pages_of_a_pdf_are_drawn_for_people_to_see(tmp_path: Path) -> None:
    (tmp_path / "two.pdf").write_bytes(text_pdf([("Total 9",), ("Page two",)]))
    document = read_one(tmp_path / "two.pdf")
    out = tmp_path / "tasks.label-studio.json"
    write([document], out, images="https://scans/")
    (task,) = json.loads(out.read_text())
    assert task["data"]["pages"] == ["https://scans/two.pdf-1.png", "https://scans/two.pdf-2.png"]
    assert [images.frame(file).width > 1000 for file in sorted((tmp_path / "tasks-pages").iterdir())] == [True, True]
    assert from_task(task, base=tmp_path).pages == document.pages
