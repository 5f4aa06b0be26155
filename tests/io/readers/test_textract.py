from pathlib import Path
from typing import Any

import pytest

from formnet.errors import DocumentError, LimitError
from formnet.io.readers import textract
from ocr_files import (
    check_raises,
    read_single,
    replace_at,
    rounded_boxes,
    textract_block,
    textract_response,
    write_file,
)


def test_read_textract_receipt_is_taller_than_letter_paper(data: Path) -> None:
    responses = data / "samples" / "ocr-json" / "textract"
    assert read_single(responses / "receipt.json").pages[0].height > 3 * textract.PAGE_WIDTH
    assert read_single(responses / "form.json").pages[0].height == textract.PAGE_WIDTH * textract.LETTER_RATIO


def test_read_textract_words_are_in_line_order(tmp_path: Path) -> None:
    document = read_single(write_file(tmp_path, textract_response()))
    assert document.texts == ("hello", "world", "alone")
    assert rounded_boxes(document)[0] == pytest.approx([100, 129.411765, 300, 155.294118])
    assert document.pages[0].confidences is not None
    assert document.pages[0].confidences.tolist() == [0.9] * 3


def test_read_textract_several_responses_are_joined(tmp_path: Path) -> None:
    blocks = [textract_block("PAGE", "q", Page=3), textract_block("PAGE", "r", Page=2)]
    last = {"DocumentMetadata": {"Pages": 3}, "Blocks": blocks}
    first = textract_response(DocumentMetadata={"Pages": 3}, NextToken="more")
    assert [len(page.texts) for page in read_single(write_file(tmp_path, [first, last])).pages] == [3, 0, 0]
    with pytest.raises(DocumentError, match="holds 1 of 3 pages"):
        read_single(write_file(tmp_path, first))


@pytest.mark.parametrize("numbered", [True, False])
def test_read_textract_pages_requested_one_by_one_stay_separate(numbered: bool, tmp_path: Path) -> None:
    responses = [
        {"Blocks": [{**block, "Id": f"{block['Id']}{n}"} for block in textract_response()["Blocks"]]} for n in (1, 2)
    ]
    for response in responses:
        for block in response["Blocks"]:
            block.pop("Page", None)
            block |= {"Page": 1} if numbered else {}  # current responses number each page 1
    document = read_single(write_file(tmp_path, responses))
    assert [sorted(page.texts) for page in document.pages] == [["alone", "hello", "world"]] * 2


def test_read_textract_expense_response(tmp_path: Path) -> None:
    plain = textract_response()
    expense = {"DocumentMetadata": {"Pages": 1}, "ExpenseDocuments": [{"ExpenseIndex": 1, "Blocks": plain["Blocks"]}]}
    assert read_single(write_file(tmp_path, expense)).texts == read_single(write_file(tmp_path, plain)).texts


def change(*path: Any, value: Any) -> Any:
    return replace_at(textract_response(), "Blocks", *path, value=value)


INVALID: list[tuple[Any, str]] = [
    ({"Blocks": {}}, "'Blocks' must be a list, not an object"),
    ({"Blocks": []}, "has no pages"),
    ({"Blocks": [1]}, "block 0: expected an object with 'BlockType'"),
    ([{"Blocks": []}, {"Blocks": 1}], "'Blocks' must be a list"),
    (textract_response(DocumentMetadata=3), "'DocumentMetadata' must be an object"),
    (textract_response(DocumentMetadata={"Pages": "1"}), "'Pages' must be an integer"),
    (change(1, "Page", value=True), "'Page' must be an integer"),
    (change(1, "Id", value=["a"]), "'Id' must be a string"),
    (change(1, "Text", value=None), "'Text' is missing"),
    (change(1, "Text", value="\ud800"), "surrogate"),
    (change(1, "Geometry", value=[]), "'Geometry' must be an object"),
    (change(1, "Geometry", "BoundingBox", value=None), "'BoundingBox' is missing"),
    (change(1, "Geometry", "BoundingBox", "Left", value="0"), "'Left' must be a number"),
    (change(1, "Geometry", "BoundingBox", "Width", value=1e308), "finite numbers"),
    (change(1, "Confidence", value=[]), "'Confidence' must be a number"),
    (change(1, "Confidence", value=-1), "not between 0 and 1"),
    (change(4, "Relationships", value={}), "'Relationships' must be a list"),
    (change(4, "Relationships", value=["x"]), "expected an object with 'Ids'"),
    (change(4, "Relationships", 0, "Ids", value="abc"), "'Ids' must be a list"),
]


@pytest.mark.parametrize(("content", "message"), INVALID, ids=[message for _, message in INVALID])
def test_read_textract_invalid_raises(content: Any, message: str, tmp_path: Path) -> None:
    check_raises(write_file(tmp_path, content), message)


def test_read_textract_too_many_pages_raises(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match="more than 2,000 pages"):
        read_single(write_file(tmp_path, {"Blocks": [textract_block("PAGE", str(i), Page=i) for i in range(2001)]}))
