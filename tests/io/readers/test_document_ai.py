import re
from pathlib import Path
from typing import Any

import pytest

from ocr_files import check_raises, document_ai_response, read_single, replace_at, rounded_boxes, write_file


def test_read_document_ai_response_or_its_document(tmp_path: Path) -> None:
    document = read_single(write_file(tmp_path, document_ai_response()))
    assert document.texts == ("Total", "9.00", "end")
    assert rounded_boxes(document) == [[0, 0, 100, 10], [100, 0, 200, 10], [1, 2, 3, 4]]
    assert [page.width for page in document.pages] == [200, 20]
    assert document.pages[0].confidences is not None
    assert document.pages[0].text_source == "Google Document AI"
    assert read_single(write_file(tmp_path, {"document": document_ai_response()})) == document


def test_read_document_ai_snake_case_keys(tmp_path: Path) -> None:
    def to_snake_case(data: Any) -> Any:
        if isinstance(data, dict):
            return {
                re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", key): to_snake_case(value) for key, value in data.items()
            }
        return [to_snake_case(item) for item in data] if isinstance(data, list) else data

    snake_case = read_single(write_file(tmp_path, to_snake_case(document_ai_response())))
    assert snake_case.pages == read_single(write_file(tmp_path, document_ai_response())).pages


def change(*path: Any, value: Any) -> Any:
    return replace_at(document_ai_response(), *path, value=value)


LAYOUT = ("pages", 0, "tokens", 0, "layout")
SEGMENT = (*LAYOUT, "textAnchor", "textSegments", 0)
INVALID: list[tuple[Any, str]] = [
    ({"text": 5, "pages": []}, "'text' must be a string"),
    ({"text": "", "pages": 5}, "'pages' must be a list"),
    ({"text": "", "pages": []}, "has no pages"),
    ({"text": "", "pages": [{}]}, "no 'tokens' on any"),
    (change("pages", 1, value=None), "not null"),
    (change("pages", 0, "tokens", value={}), "'tokens' must be a list"),
    (change("pages", 0, "tokens", 0, value=[]), "expected an object with 'layout'"),
    (change("pages", 0, "dimension", value=None), "the page has no 'dimension'"),
    (change("pages", 0, "dimension", "width", value="wide"), "'width' must be a number"),
    (change(*LAYOUT, "textAnchor", value="x"), "'textAnchor' must be an object"),
    (change(*SEGMENT, value=5), "a text segment must be an object"),
    (change(*SEGMENT, "endIndex", value="99"), "index outside the text"),
    (change(*SEGMENT, "endIndex", value=None), "index outside the text"),
    (change(*SEGMENT, "startIndex", value=-1), "an index into the text"),
    (change(*SEGMENT, "startIndex", value="9" * 5000), "an index into the text"),
    (change(*SEGMENT, "startIndex", value="²"), "an index into the text"),
    (change(*SEGMENT[:-1], value=[{"endIndex": 14}] * 5), "overlap too much"),
    (change("shardInfo", value={"shardCount": "3"}), "one of 3 shards"),
    (change(*LAYOUT, "boundingPoly", value={}), "'vertices' is missing"),
    (change(*LAYOUT, "boundingPoly", "normalizedVertices", value=[{}]), "has 1 vertices"),
    (change(*LAYOUT, "boundingPoly", "normalizedVertices", value=[1, 2]), "expected an object with 'x'"),
    (change(*LAYOUT, "confidence", value={}), "'confidence' must be a number"),
]


@pytest.mark.parametrize(("content", "message"), INVALID, ids=[message for _, message in INVALID])
def test_read_document_ai_invalid_raises(content: Any, message: str, tmp_path: Path) -> None:
    check_raises(write_file(tmp_path, content), message)
