import gzip
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formnet import read
from formnet.errors import DocumentError, FormNetError, LimitError
from formnet.io.readers import jsonl
from formnet.io.writers import write

PAGE = {"width": 10, "height": 10, "words": ["a"], "boxes": [[0, 0, 1, 1]]}


def test_written_documents_are_read_back(tmp_path: Path, examples: Path) -> None:
    documents = list(read(examples / "documents.jsonl"))
    for name in ("copy.jsonl", "copy.jsonl.gz"):
        assert write(documents, tmp_path / name) == 2
        assert list(read(tmp_path / name)) == documents


def test_a_page_may_stand_beside_the_id() -> None:
    document = jsonl.from_json({"id": "x", **PAGE})
    assert document.texts == ("a",)


def test_images_are_found_beside_the_file_and_nowhere_without_one(tmp_path: Path) -> None:
    data = {"id": "x", "pages": [{**PAGE, "image": "scan.png"}]}
    assert jsonl.from_json(data, tmp_path).pages[0].image == tmp_path / "scan.png"
    assert jsonl.from_json(data).pages[0].image is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema": "formnet.document/99"}, "schema 'formnet.document/99' is not known"),
        ({"id": None}, "needs an 'id'"),
        ({"id": ""}, "needs an 'id'"),
        ({"pages": {}}, "'pages' should be a list"),
        ({"pages": [7]}, "'words' should be a list"),
        ({"pages": [{**PAGE, "words": [1]}]}, "word 0 is 1"),
        ({"pages": [{**PAGE, "boxes": 3}]}, "'boxes' should be a list"),
        ({"pages": [{**PAGE, "width": "wide"}]}, "'width' should be a number"),
        ({"pages": [{**PAGE, "width": 0}]}, "cannot be"),
        ({"pages": [{**PAGE, "width": 10**400}]}, "too large"),
        ({"pages": [{**PAGE, "confidences": [2]}]}, "not between 0 and 1"),
        ({"pages": [{**PAGE, "confidences": ["x"]}]}, "not one number for each word"),
        ({"pages": [{**PAGE, "image": "a\0b"}]}, "'image' should be a path"),
        ({"entities": [{"label": "x", "words": [1]}]}, "has 1 words"),
        ({"entities": [{"label": "x", "words": [True]}]}, "list of word numbers"),
        ({"entities": [{"words": [0]}]}, "needs a 'label'"),
        ({"entities": ["x"]}, "needs a 'label'"),
        ({"links": [[0]]}, "a link is two entity numbers"),
        ({"links": [[0, 1]]}, "names an entity that is not there"),
        ({"fields": {"total": 9}}, "'fields' should map"),
        ({"fields": ["total"]}, "'fields' should map"),
        ({"fields": {"total": "\ud800"}}, "surrogate"),
        ({"id": "\ud800"}, "surrogate"),
        ({"pages": [{**PAGE, "words": ["\udfff"]}]}, "surrogate"),
        ({"entities": [{"label": "x", "words": [0], "score": float("1e400")}]}, "not JSON"),
        ({"entities": [{"label": "", "words": [0]}]}, "empty label"),
    ],
)
def test_what_is_wrong_is_said(change: dict[str, Any], says: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text("\n" + json.dumps({"id": "x", "pages": [PAGE], **change}), encoding="utf-8")
    with pytest.raises(DocumentError) as refusal:
        list(read(file))
    assert says in str(refusal.value)
    assert f"{file}, line 2" in str(refusal.value)


@pytest.mark.parametrize(
    "raw",
    [b"{", b"[]", b"nonsense", b'{"id": "x", "words": [NaN]}', b"\xff\xfe", b"[" * 100_000, b'{"id": 1e999}'],
)
def test_broken_lines_are_refused(raw: bytes, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_bytes(raw)
    with pytest.raises(DocumentError, match="line 1"):
        list(read(file))


def test_broken_and_endless_archives_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = gzip.compress(json.dumps({"id": "x", "pages": [PAGE]}).encode())
    cut, bomb = tmp_path / "cut.jsonl.gz", tmp_path / "bomb.jsonl.gz"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DocumentError, match="cannot be unpacked"):
        list(read(cut))
    monkeypatch.setattr(jsonl, "LONGEST_LINE", 2**20)
    bomb.write_bytes(gzip.compress(b" " * 2**22))
    with pytest.raises(LimitError, match="longer than 1 MiB"):
        list(read(bomb))


def test_unknown_suffixes_and_missing_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "scan.xyz").write_text("hello")
    with pytest.raises(DocumentError, match="none of the kinds"):
        read(tmp_path / "scan.xyz")
    with pytest.raises(DocumentError, match="no such file"):
        read(tmp_path / "none.jsonl")


anything = st.recursive(
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


@given(st.dictionaries(st.sampled_from(["id", "pages", "words", "boxes", "width", "entities", "fields"]), anything))
def test_only_our_errors_come_of_any_json(data: dict[str, Any]) -> None:
    with suppress(FormNetError):
        jsonl.from_json({"id": "x", **data})
