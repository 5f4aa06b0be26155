import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.memory import peak_megabytes
from formnet import read
from formnet.document import Document
from formnet.errors import DocumentError, FormNetError, LimitError
from formnet.io.limits import ReadLimits
from formnet.io.readers.jsonl import from_json

PAGE = {"width": 10, "height": 10, "words": ["a"], "boxes": [[0, 0, 1, 1]]}


def test_from_json_single_page_without_pages_key() -> None:
    document = from_json({"id": "x", **PAGE})
    assert document.texts == ("a",)


def test_from_json_image_is_relative_to_base(tmp_path: Path) -> None:
    data = {"id": "x", "pages": [{**PAGE, "image": "scan.png"}]}
    assert from_json(data, tmp_path).pages[0].image == tmp_path / "scan.png"
    assert from_json(data).pages[0].image is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "formnet.document/99"}, "unknown schema 'formnet.document/99'"),
        ({"id": None}, "needs an 'id'"),
        ({"id": ""}, "needs an 'id'"),
        ({"pages": {}}, "'pages' must be a list"),
        ({"pages": [7]}, "'words' must be a list"),
        ({"pages": [{**PAGE, "words": [1]}]}, "word 0 is 1"),
        ({"pages": [{**PAGE, "boxes": 3}]}, "'boxes' must be a list"),
        ({"pages": [{**PAGE, "width": "wide"}]}, "'width' must be a number"),
        ({"pages": [{**PAGE, "width": 0}]}, "invalid page size"),
        ({"pages": [{**PAGE, "width": 10**400}]}, "too large"),
        ({"pages": [{**PAGE, "confidences": [2]}]}, "not between 0 and 1"),
        ({"pages": [{**PAGE, "confidences": ["x"]}]}, "must be one number for each word"),
        ({"pages": [{**PAGE, "image": "a\0b"}]}, "'image' must be a path"),
        ({"pages": [{**PAGE, "rotation": 45}]}, "'rotation' must be 0, 90, 180 or 270"),
        ({"entities": [{"label": "x", "words": [1]}]}, "has 1 words"),
        ({"entities": [{"label": "x", "words": [True]}]}, "list of word numbers"),
        ({"entities": [{"words": [0]}]}, "needs a 'label'"),
        ({"entities": ["x"]}, "needs a 'label'"),
        ({"links": [[0]]}, "a link is two entity numbers"),
        ({"links": [[0, 1]]}, "refers to a missing entity"),
        ({"fields": {"total": 9}}, "'fields' must map"),
        ({"fields": ["total"]}, "'fields' must map"),
        ({"fields": {"total": "\ud800"}}, "surrogate"),
        ({"id": "\ud800"}, "surrogate"),
        ({"pages": [{**PAGE, "words": ["\udfff"]}]}, "surrogate"),
        ({"entities": [{"label": "x", "words": [0], "score": float("1e400")}]}, "not JSON"),
        ({"entities": [{"label": "", "words": [0]}]}, "empty label"),
    ],
)
def test_read_jsonl_invalid_document_raises(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("\n" + json.dumps({"id": "x", "pages": [PAGE], **change}), encoding="utf-8")
    with pytest.raises(DocumentError) as raised:
        list(read(file))
    assert message in str(raised.value)
    assert f"{file}, line 2" in str(raised.value)


@pytest.mark.parametrize(
    "raw",
    [b"{", b"[]", b"nonsense", b'{"id": "x", "words": [NaN]}', b"\xff\xfe", b"[" * 100_000, b'{"id": 1e999}'],
)
def test_read_jsonl_invalid_line_raises(raw: bytes, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(raw)
    with pytest.raises(DocumentError, match="line 1"):
        list(read(file))


def test_read_jsonl_truncated_or_oversized_gzip_raises(tmp_path: Path) -> None:
    compressed = gzip.compress(json.dumps({"id": "x", "pages": [PAGE]}).encode())
    truncated, bomb = tmp_path / "cut.jsonl.gz", tmp_path / "bomb.jsonl.gz"
    truncated.write_bytes(compressed[: len(compressed) // 2])
    with pytest.raises(DocumentError, match="cannot be decompressed"):
        list(read(truncated))
    bomb.write_bytes(gzip.compress(b" " * 2**22))
    with pytest.raises(LimitError, match="longer than 1 MiB"):
        list(read(bomb, limits=ReadLimits(max_line_bytes=2**20)))


def test_from_json_too_many_pages_raises() -> None:
    page = {"width": 9, "height": 9, "words": ["w"], "boxes": [[0, 0, 1, 1]]}
    with pytest.raises(LimitError, match="2,001 pages"):
        from_json({"id": "a", "pages": [page] * 2_001})
    document = from_json({"id": "a", "pages": [{**page, "confidences": [0.5]}] * 2_000})
    assert isinstance(document, Document)
    assert document.entity("x", [1_999]).ocr_score == 0.5


def test_from_json_text_in_boxes_takes_little_memory() -> None:
    """numpy would convert all boxes to strings as long as the longest one."""
    valid = json.dumps({"id": "a", "width": 9, "height": 9, "words": ["w"] * 2000, "boxes": [[0, 0, 1, 1]] * 2000})
    invalid = valid.replace("[0, 0, 1, 1]]", f'[0, 0, 1, "{"x" * 10_000}"]]')
    assert peak_megabytes(lambda: _check_invalid_box(invalid)) < 20


def _check_invalid_box(text: str) -> None:
    with pytest.raises(DocumentError, match=r"word 1999.*four numbers") as raised:
        from_json(json.loads(text))
    assert len(str(raised.value)) < 300


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "pages", "words", "boxes", "width", "height", "entities", "label", "links", "fields"]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=25,
)


@given(st.dictionaries(st.sampled_from(["id", "pages", "words", "boxes", "width", "entities", "fields"]), any_json))
def test_from_json_arbitrary_json_raises_only_formnet_error(data: dict[str, Any]) -> None:
    with suppress(FormNetError):
        from_json({"id": "x", **data})


def test_from_json_overlapping_entities_raise() -> None:
    words = [f"w{i}" for i in range(50)]
    page = {"id": "a", "width": 99, "height": 99, "words": words, "boxes": [[0, 0, 1, 1]] * 50}
    entities = [{"label": "x", "words": list(range(50))}] * 20
    assert len(from_json({**page, "entities": entities}).entities) == 20
    with pytest.raises(LimitError, match="more than 20 times as many words as the document"):
        from_json({**page, "entities": [*entities, {"label": "x", "words": [0]}]})
