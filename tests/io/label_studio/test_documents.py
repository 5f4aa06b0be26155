import copy
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formnet import DocumentBuilder
from formnet.errors import DocumentError, FormNetError, LimitError
from formnet.io.label_studio import documents, from_task, is_labeled, load_tasks, to_task
from label_studio_tasks import make_receipt, make_region, make_task

names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
plain = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=3), st.just([]), st.just({}))
anything = st.recursive(plain, lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(names, inner)))


def test_from_task_applies_changes() -> None:
    task = to_task(make_receipt())
    result = task["annotations"][0]["result"]
    result[0]["value"]["rectanglelabels"] = ["question"]  # changed label
    for part in result[2:4]:  # moved to the line below, with unchanged text
        part["value"]["y"] = 10.0
    result.append(make_region("new", 9, 9, 25, 4, labels=["paid"]))
    result.append(make_region("empty", 0, 0, 5, 1, labels=["nothing"]))
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


def test_from_task_changed_ids_same_boxes_restores_document() -> None:
    task = to_task(make_receipt())
    for part in task["annotations"][0]["result"]:
        for key in ("id", "from_id", "to_id"):
            if key in part:
                part[key] = f"x{part[key]}#17"
    assert from_task(task, base=Path("/")) == make_receipt()


def test_from_task_regions_with_text_become_words() -> None:
    task = make_task(
        make_region("a", 10, 10, 70, 10, labels=["key"]),
        make_region("a", 10, 10, 70, 10, text=["to 9.00"]),
        make_region("b", 0, 40, 10, 20, text="one\ntwo"),
        make_region("around", 0, 46, 20, 20, labels=["second"]),
        {"type": "choices", "id": "c", "value": {"choices": ["good"]}},
        make_region("p2", 0, 0, 50, 100, text=["next page"], item_index=1),
        make_region("p2", 0, 0, 50, 100, labels=["other"], item_index=1),
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


@pytest.mark.parametrize("name", ["slip 1", "slip 1.png", "0a1b2c3d-slip 1.png"])
def test_from_task_uses_words_of_given_document(name: str) -> None:
    builder = DocumentBuilder(name)
    builder.add_page(["Total", "9.00", "Paid"], [[10, 10, 30, 14], [40, 10, 50, 14], [10, 20, 30, 24]], 100, 100)
    task = make_task(make_region("a", 35, 5, 30, 12, labels=["total"]), make_region("a", 35, 5, 30, 12, text=["9.00"]))
    document = from_task(task, {name: builder.build()})
    assert document.id == name
    assert [(e.label, e.text) for e in document.entities] == [("total", "9.00")]
    assert document.repairs == ()
    assert from_task(task).texts == ("9.00",)


def test_from_task_selects_ground_truth_or_last_annotation() -> None:
    def selected_text(*annotations: dict[str, Any]) -> str:
        rows = [{**a, "result": [make_region("a", 0, 0, 9, 9, text=[f"{n}"])]} for n, a in enumerate(annotations)]
        return from_task(make_task(annotations=rows)).texts[0]

    assert selected_text({}, {}) == "1"
    assert selected_text({}, {"was_canceled": True}) == "0"
    assert selected_text({}, {"ground_truth": True}, {}) == "1"
    assert not is_labeled(make_task(annotations=[{"was_canceled": True}]))
    assert not is_labeled({"data": {}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": None}, "no 'data'"),
        ({"data": {"formnet": 3}}, "a document is a JSON object"),
        ({"annotations": 3}, "must be a list of objects"),
        ({"annotations": [3]}, "must be a list of objects"),
        ({"annotations": [{}]}, "needs a 'result'"),
        ({"annotations": [{"result": ["x"]}]}, "needs a 'result'"),
        ({"annotations": None}, "not annotated and contains no document"),
        ({"type": "labels", "value": {"start": 0, "end": 3, "labels": ["x"]}}, "not a rectangle or polygon"),
        ({"id": 3}, "needs an 'id'"),
        ({"value": []}, "needs an 'id'"),
        ({"value": {"x": "a", "y": 0, "width": 1, "height": 1, "rectanglelabels": ["x"]}}, "'x' must be a number"),
        ({"value": {"x": 10**400, "y": 0, "width": 1, "height": 1, "rectanglelabels": ["x"]}}, "'x' must be"),
        ({"value": {"points": [[1]], "rectanglelabels": ["x"]}}, "list of pairs"),
        ({"value": {"points": [], "rectanglelabels": ["x"]}}, "not a rectangle or polygon"),
        ({"value": {"x": 0, "y": 0, "width": 1, "height": 1, "rectanglelabels": [1]}}, "list of strings"),
        ({"value": {"x": 0, "y": 0, "width": 1, "height": 1}}, "'rectanglelabels' must be a list"),
        ({"value": {"x": 0, "y": 0, "width": 1, "height": 1, "rectanglelabels": ["\ud800"]}}, "surrogate"),
        ({"value": {"x": 0, "y": 0, "width": 1, "height": 1, "rectanglelabels": [""]}}, "empty label"),
        ({"item_index": -1}, "page must be a number"),
        ({"item_index": 10**9}, "page must be a number"),
        ({"original_width": 0.5}, "number of pixels"),
        ({"original_width": None}, "no 'original_width'"),
        ({"image_rotation": 90}, "Rotate the scan"),
        ({"type": "relation"}, "'from_id'"),
        ({"type": "ellipselabels"}, "draw rectangles or polygons"),
    ],
)
def test_from_task_malformed_task_raises(change: dict[str, Any], message: str) -> None:
    item = make_region("a", 0, 0, 9, 9, labels=["x"])
    task = {**make_task(item), **change} if {"data", "annotations"} & change.keys() else make_task({**item, **change})
    with pytest.raises(DocumentError) as error:
        from_task(task)
    assert message in str(error.value)


def test_from_task_region_on_missing_page_raises() -> None:
    task = to_task(make_receipt())
    task["annotations"][0]["result"].append(make_region("new", 0, 0, 9, 9, labels=["x"], item_index=1))
    with pytest.raises(DocumentError, match="on page 2, but the document has 1"):
        from_task(task)


def test_from_task_too_large_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "MAX_RESULTS", 2)
    with pytest.raises(LimitError, match="3 results"):
        from_task(make_task(*[make_region("a", 0, 0, 1, 1)] * 3))
    monkeypatch.setattr(documents, "MAX_FILE_BYTES", 2)
    (tmp_path / "x.json").write_text("[{}]")
    with pytest.raises(LimitError, match="export it in parts"):
        load_tasks(tmp_path / "x.json")


@pytest.mark.slow
@settings(max_examples=200)
@given(st.data())
def test_from_task_arbitrary_data_raises_only_formnet_errors(data: st.DataObject) -> None:
    """Replace any part of a task with arbitrary data."""
    task: Any = copy.deepcopy(
        data.draw(st.sampled_from([to_task(make_receipt()), make_task(make_region("a", 0, 0, 9, 9, text="x"))]))
    )
    parent, key, node = None, None, task
    while isinstance(node, dict | list) and node and data.draw(st.integers(0, 5)):
        keys = sorted(node) if isinstance(node, dict) else range(len(node))
        parent, key = node, data.draw(st.sampled_from(keys))
        node = node[key]
    replacement = data.draw(anything)
    if parent is None:
        task = replacement
    else:
        parent[key] = replacement
    is_labeled(task)
    with suppress(FormNetError):
        from_task(task)
