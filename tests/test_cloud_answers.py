"""The services' JSON: real answers, and small ones of our own."""

import json
from pathlib import Path
from typing import Any

import pytest

from formnet.errors import DocumentError
from formnet.io.readers import textract
from ocr_files import amazon, azure, block, boxes, google, only, saved


@pytest.mark.parametrize(
    ("name", "num_pages", "num_words", "opening", "box"),
    [
        ("azure/Invoice_1.pdf.ocr.json", 1, 34, "Contoso Address: Invoice For:", [0.5384, 1.1583, 1.4466, 1.3534]),
        ("azure/analyze-result-invoice-6.pdf.json", 1, 70, "Contoso, Ltd. Project", [0.5826, 0.4411, 1.744, 0.7969]),
        ("azure/sample-layout-output.json", 1, 425, "UNITED STATES SECURITIES", [3.4915, 0.6851, 4.1905, 0.8263]),
        ("textract/form.json", 1, 498, "DIVISION OF WELFARE AND", [286.3, 17.6, 360.1, 31.0]),
        ("textract/multipage.json", 2, 106, "Textractor Test Document", [162.8, 154.1, 628.6, 231.8]),
        ("textract/patient_intake_form_sample.json", 1, 124, "Patient Information", [24.9, 70.9, 105.1, 89.1]),
        ("textract/paystub.json", 1, 282, "CO. FILE DEPT. CLOCK NUMBER", [165.1, 45.3, 184.1, 55.8]),
        ("textract/receipt.json", 1, 94, "MEGA BIGBOX 800-532-2918", [256.7, 98.3, 488.3, 240.0]),
        ("textract/test.json", 1, 38, "Term January St, 2020", [136.9, 0.0, 182.9, 42.5]),
    ],
)
def test_real_answers(name: str, num_pages: int, num_words: int, opening: str, box: list[float], data: Path) -> None:
    document = only(data / "samples" / "ocr-json" / name)
    assert (len(document.pages), document.num_words) == (num_pages, num_words)
    assert " ".join(document.texts).startswith(opening)
    assert document.boxes[0].tolist() == pytest.approx(box, abs=0.06)
    service = {"azure": "Azure Document Intelligence", "textract": "Amazon Textract"}[name.partition("/")[0]]
    assert {page.text_source for page in document.pages} == {service}
    assert all(page.confidences is not None for page in document.pages)


def test_a_receipt_is_seen_to_be_taller_than_letter_paper(data: Path) -> None:
    answers = data / "samples" / "ocr-json" / "textract"
    assert only(answers / "receipt.json").pages[0].height > 3 * textract.WIDTH
    assert only(answers / "form.json").pages[0].height == textract.WIDTH * textract.LETTER


@pytest.mark.parametrize(
    ("name", "says"),
    [("Invoice_1.pdf.labels.json", "known are answers of Amazon"), ("receipt-result.json", "includeTextDetails=true")],
)
def test_answers_without_words_are_refused(name: str, says: str, data: Path) -> None:
    with pytest.raises(DocumentError, match=says):
        only(data / "samples" / "ocr-json" / "azure" / name)


def test_every_sample_is_tried(data: Path) -> None:
    assert sorted(path.name for path in (data / "samples" / "ocr-json").rglob("*.json")) == [
        "Invoice_1.pdf.labels.json", "Invoice_1.pdf.ocr.json", "analyze-result-invoice-6.pdf.json", "form.json",
        "multipage.json", "patient_intake_form_sample.json", "paystub.json", "receipt-result.json", "receipt.json",
        "sample-layout-output.json", "test.json",
    ]  # fmt: skip


def test_textract_words_come_in_the_order_of_lines(tmp_path: Path) -> None:
    document = only(saved(tmp_path, amazon()))
    assert document.texts == ("hello", "world", "alone")
    assert boxes(document)[0] == pytest.approx([100, 129.411765, 300, 155.294118])
    assert document.pages[0].confidences is not None
    assert document.pages[0].confidences.tolist() == [0.9] * 3


def test_textract_pages_may_come_in_several_answers(tmp_path: Path) -> None:
    last = {"DocumentMetadata": {"Pages": 3}, "Blocks": [block("PAGE", "q", Page=3), block("PAGE", "r", Page=2)]}
    first = amazon(DocumentMetadata={"Pages": 3}, NextToken="more")
    assert [len(page.texts) for page in only(saved(tmp_path, [first, last])).pages] == [3, 0, 0]
    with pytest.raises(DocumentError, match="holds 1 of 3 pages"):
        only(saved(tmp_path, first))


@pytest.mark.parametrize("told", [True, False])
def test_textract_pages_asked_for_one_by_one_are_not_laid_on_each_other(told: bool, tmp_path: Path) -> None:
    answers = [{"Blocks": [{**one, "Id": f"{one['Id']}{n}"} for one in amazon()["Blocks"]]} for n in (1, 2)]
    for answer in answers:
        for one in answer["Blocks"]:
            one.pop("Page", None)
            one |= {"Page": 1} if told else {}  # today's answers say that each is the first
    document = only(saved(tmp_path, answers))
    assert [sorted(page.texts) for page in document.pages] == [["alone", "hello", "world"]] * 2


@pytest.mark.parametrize(
    "polygon", [(1, 1, 3, 1.5, 3, 2, 1, 2), [{"x": 1, "y": 2}, {"x": 3, "y": 1}, {"x": 3, "y": 2}, {"x": 1, "y": 1}]]
)
def test_azure_since_version_3(polygon: Any, tmp_path: Path) -> None:
    answer = azure(polygon)
    document = only(saved(tmp_path, answer))
    assert document.texts == ("Total",)
    assert boxes(document) == [[1, 1, 3, 2]]
    assert (document.pages[0].width, document.pages[0].height) == (8.5, 11)
    assert only(saved(tmp_path, answer["analyzeResult"])) == document


def test_document_ai(tmp_path: Path) -> None:
    document = only(saved(tmp_path, google()))
    assert document.texts == ("Total", "9.00", "end")
    assert boxes(document) == [[0, 0, 100, 10], [100, 0, 200, 10], [1, 2, 3, 4]]
    assert [page.width for page in document.pages] == [200, 20]
    assert document.pages[0].confidences is not None
    assert document.pages[0].text_source == "Google Document AI"
    assert only(saved(tmp_path, {"document": google()})) == document


def test_our_own_document_may_stand_alone(tmp_path: Path) -> None:
    page = {"words": ["a"], "boxes": [[0, 0, 1, 1]], "width": 9, "height": 9}
    assert only(saved(tmp_path, {"id": "x", "pages": [page]})) == only(saved(tmp_path, {"id": "x", **page}, "x.json"))
    document = only(saved(tmp_path, google()))
    assert only(saved(tmp_path, "\ufeff" + json.dumps(document.to_json(), indent=1))) == document
