import json
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from formnet.errors import DocumentError, FormNetError
from formnet.io.readers import cloud
from ocr_files import (
    azure_response,
    check_raises,
    document_ai_response,
    iter_paths,
    read_single,
    replace_at,
    textract_response,
    write_file,
)


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
def test_read_sample_response(
    name: str, num_pages: int, num_words: int, opening: str, box: list[float], data: Path
) -> None:
    document = read_single(data / "samples" / "ocr-json" / name)
    assert (len(document.pages), document.num_words) == (num_pages, num_words)
    assert " ".join(document.texts).startswith(opening)
    assert document.boxes[0].tolist() == pytest.approx(box, abs=0.06)
    service = {"azure": "Azure Document Intelligence", "textract": "Amazon Textract"}[name.partition("/")[0]]
    assert {page.text_source for page in document.pages} == {service}
    assert all(page.confidences is not None for page in document.pages)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Invoice_1.pdf.labels.json", "Supported are responses of Amazon"),
        ("receipt-result.json", "includeTextDetails=true"),
    ],
)
def test_read_sample_response_without_words_raises(name: str, message: str, data: Path) -> None:
    with pytest.raises(DocumentError, match=message):
        read_single(data / "samples" / "ocr-json" / "azure" / name)


def test_sample_responses_are_all_tested(data: Path) -> None:
    assert sorted(path.name for path in (data / "samples" / "ocr-json").rglob("*.json")) == [
        "Invoice_1.pdf.labels.json", "Invoice_1.pdf.ocr.json", "analyze-result-invoice-6.pdf.json", "form.json",
        "multipage.json", "patient_intake_form_sample.json", "paystub.json", "receipt-result.json", "receipt.json",
        "sample-layout-output.json", "test.json",
    ]  # fmt: skip


def test_read_json_single_formnet_document(tmp_path: Path) -> None:
    page = {"words": ["a"], "boxes": [[0, 0, 1, 1]], "width": 9, "height": 9}
    nested = read_single(write_file(tmp_path, {"id": "x", "pages": [page]}))
    assert nested == read_single(write_file(tmp_path, {"id": "x", **page}, "x.json"))
    document = read_single(write_file(tmp_path, document_ai_response()))
    assert read_single(write_file(tmp_path, "\ufeff" + json.dumps(document.to_json(), indent=1))) == document


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_read_json_detects_encoding(encoding: str, tmp_path: Path) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    content = mark + json.dumps(textract_response()).encode(encoding)
    assert read_single(write_file(tmp_path, content)).num_words == 3


INVALID: list[tuple[Any, str]] = [
    ("{", "is not JSON"),
    ("[" * 200_000, "is not JSON"),
    ('{"Blocks": NaN}', "is not JSON"),
    (b'{"Blocks": "\xff"}', "is not UTF-8"),
    ('{"n": ' + "9" * 5000 + "}", "is not JSON"),
    ("[]", "unsupported JSON"),
    ("{}", "unsupported JSON"),
    ([1], "unsupported JSON"),
    ({"document": "x", "labels": []}, "unsupported JSON"),
    ({"pages": [{"words": [{"text": "x"}], "boxes": []}], "id": "x"}, "a word must be a string"),
    ({"pages": []}, "needs an 'id'"),
]


@pytest.mark.parametrize(("content", "message"), INVALID, ids=[message for _, message in INVALID])
def test_read_json_invalid_raises(content: Any, message: str, tmp_path: Path) -> None:
    check_raises(write_file(tmp_path, content), message)


@pytest.mark.parametrize(
    "response",
    [document_ai_response(), azure_response([1, 1, 2, 2]), textract_response(), [textract_response()]],
)
def test_parse_response_with_any_value_replaced_raises_only_formnet_error(response: Any, tmp_path: Path) -> None:
    values = (None, True, -1, 1e308, 10**400, float("inf"), "", "x", "\ud800", [], [[]], {}, {"x": 1}, ["a"])
    for path in iter_paths(response):
        for value in values:
            with suppress(FormNetError):
                cloud.parse(replace_at(deepcopy(response), *path, value=value), tmp_path / "file")
