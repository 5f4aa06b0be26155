from pathlib import Path
from typing import Any

import pytest

from ocr_files import azure_response, check_raises, read_single, replace_at, rounded_boxes, write_file


@pytest.mark.parametrize(
    "polygon", [(1, 1, 3, 1.5, 3, 2, 1, 2), [{"x": 1, "y": 2}, {"x": 3, "y": 1}, {"x": 3, "y": 2}, {"x": 1, "y": 1}]]
)
def test_read_azure_v3_response_or_its_result(polygon: Any, tmp_path: Path) -> None:
    response = azure_response(polygon)
    document = read_single(write_file(tmp_path, response))
    assert document.texts == ("Total",)
    assert rounded_boxes(document) == [[1, 1, 3, 2]]
    assert (document.pages[0].width, document.pages[0].height) == (8.5, 11)
    assert read_single(write_file(tmp_path, response["analyzeResult"])) == document


WORD = ("analyzeResult", "pages", 0, "words", 0)
INVALID: list[tuple[Any, str]] = [
    ({"analyzeResult": []}, "'analyzeResult' must be an object"),
    ({"analyzeResult": {}}, "'pages' is missing"),
    ({"analyzeResult": {"pages": {}}}, "'pages' must be a list"),
    ({"analyzeResult": {"pages": []}}, "has no pages"),
    ({"analyzeResult": {"pages": [1]}}, "no 'words' on any"),
    ({"analyzeResult": {"readResults": "x"}}, "'readResults' must be a list"),
    ({"readResults": [{"lines": [1]}]}, "expected an object with 'words'"),
    ({"readResults": [{"lines": [{"words": [{"text": "x"}]}]}]}, "'boundingBox' is missing"),
    ({"readResults": [{"lines": []}, 1]}, "expected an object with 'width'"),
    (azure_response([1, 2, 3]), "pairs of numbers"),
    (azure_response([]), "pairs of numbers"),
    (azure_response(["1", "2", "3", "4"]), "'polygon' must be a number"),
    (azure_response([{"x": 1, "y": 2}, 7]), "expected an object with 'x'"),
    (azure_response([1, 2, 3, 10**400]), "too large"),
    (azure_response(content=5), "'content' must be a string"),
    (azure_response(confidence="high"), "'confidence' must be a number"),
    (replace_at(azure_response(), *WORD, value="Total"), "expected an object with 'content'"),
    (replace_at(azure_response(), *WORD[:-1], value="Total"), "'words' must be a list"),
    (replace_at(azure_response(), *WORD[:3], "width", value=True), "'width' must be a number"),
]


@pytest.mark.parametrize(("content", "message"), INVALID, ids=[message for _, message in INVALID])
def test_read_azure_invalid_raises(content: Any, message: str, tmp_path: Path) -> None:
    check_raises(write_file(tmp_path, content), message)
