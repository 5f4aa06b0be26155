import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from formnet.errors import DocumentError, LimitError
from formnet.io.readers import hocr, read
from ocr_files import HOCR, change_hocr, check_raises, read_single, rounded_boxes, write_file


def test_read_hocr_need_not_be_xml(tmp_path: Path) -> None:
    Image.new("L", (600, 800)).save(tmp_path / "scan.png")
    path = write_file(tmp_path, HOCR)
    document = read_single(path)
    page, other = document.pages
    assert document.id == str(path)
    assert page.texts == ("Invoice", "R&D", "9", "<10")
    assert (page.width, page.height, page.text_source) == (600, 800, "hOCR")
    assert page.boxes[:2].tolist() == [[40, 20, 120, 40], [130, 20, 190, 40]]
    assert page.confidences is not None
    assert page.confidences.tolist() == [0.96, 0.4, 1, 1]
    assert page.image == tmp_path / "scan.png"
    assert (other.texts, other.confidences, other.image) == (("next",), None, None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_read_hocr_uses_declared_encoding(encoding: str, tmp_path: Path) -> None:
    text = f"<?xml version='1.0' encoding='{encoding.removesuffix('-sig')}'?>" + HOCR.replace("next", "Zürich")
    assert read_single(write_file(tmp_path, text.encode(encoding))).texts[-1] == "Zürich"


def test_read_hocr_lines_are_split_into_words(tmp_path: Path) -> None:
    text = "<div class=ocr_page title='bbox 0 0 99 99'><p><span class=ocr_line title='bbox 0 0 70 9'>to 9.00</span>"
    document = read_single(write_file(tmp_path, text))
    assert document.texts == ("to", "9.00")
    assert rounded_boxes(document) == [[0, 0, 20, 9], [30, 0, 70, 9]]


def test_read_hocr_unclosed_word_ends_at_next_word(tmp_path: Path) -> None:
    word = "<span class=ocrx_word title='bbox 0 0 9 9'>"
    text = f"<div class=ocr_page>{word}a{word}b<div class=ocr_page>"
    assert read_single(write_file(tmp_path, text)).texts == ("a", "b")


def test_read_hocr_declared_but_unused_word_class_reads_lines(tmp_path: Path) -> None:
    head = "<meta name='ocr-capabilities' content='ocr_page ocr_line ocrx_word'>"
    line = "<span class='ocr_line' title='bbox\n 10 10 200 30; x_wconf -1'>Total 9.00</span>"
    page = f"<div class='ocr_page' title='bbox 0 0 300 400'>{line}</div>"
    file = tmp_path / "a.hocr"
    file.write_text(f"<html><head>{head}</head><body>{page}</body></html>")
    (document,) = read(file)
    assert " ".join(document.texts) == "Total 9.00"


INVALID: list[tuple[Any, str]] = [
    ("<html><p>Nothing marked.</p></html>", "so not hOCR"),
    ("<html><meta content='ocr_page'></html>", "has no pages"),
    ("<div id='ocr_page'><span class=ocrx_word>x</span></div>", "before the first ocr_page"),
    (change_hocr("bbox 50 40 130 60", "bbox 50 40 130"), "no bbox of four numbers"),
    (change_hocr("bbox 50 40 130 60", "bbox 50 40 130 wide"), "must be a number"),
    (change_hocr("bbox 50 40 130 60", "bbox 50 40 130 nan"), "must be a number"),
    (change_hocr("bbox 50 40 130 60; ", ""), "no bbox"),
    (change_hocr("bbox 50 40 130 60", "bbox 50 40 130 1e300"), "finite numbers"),
    (change_hocr("bbox 10 20 610 820", "bbox 0 0 0 0"), "invalid page size"),
    (change_hocr("x_wconf 96", "x_wconf much"), "must be a number"),
    (change_hocr("x_wconf 96", "x_wconf 960"), "not between 0 and 1"),
    (HOCR.replace("next", "Zürich").encode("latin-1"), "does not match its declared encoding: 'utf-8' codec"),
    (b"<?xml encoding='punycode'?>" + HOCR.encode(), "Save it as UTF-8"),
    (b"<?xml encoding='nonsense'?>" + HOCR.encode(), "Save it as UTF-8"),
    ("<html>".encode("utf-16") + b"\0", "does not match its declared encoding: 'utf-16"),
]


@pytest.mark.parametrize(("content", "message"), INVALID, ids=[message for _, message in INVALID])
def test_read_hocr_invalid_raises(content: Any, message: str, tmp_path: Path) -> None:
    check_raises(write_file(tmp_path, content), message)


def test_read_hocr_too_many_pages_raises(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match="more than 2,000 pages"):
        read_single(write_file(tmp_path, "<div class=ocr_page></div>" * 2001))


@pytest.mark.parametrize(
    "unit", ["<!--", "<a ", "<a b='", '<a "', "<![CDATA[", "</", "&", "<a \"'", "<p class ", "ocr "]
)
def test_read_hocr_malformed_html_takes_linear_time(unit: str, tmp_path: Path) -> None:
    path = write_file(tmp_path, HOCR + unit * 100_000)  # takes the standard library's parser an hour
    assert read_single(path).num_words == 5
    hocr.parse(f"{HOCR}<a {unit * 100_000}>", path)


def test_read_hocr_repeated_class_attribute_takes_linear_time(tmp_path: Path) -> None:
    file = tmp_path / "a.hocr"
    file.write_text("<html><div class='ocr_page'>" + "class=" * 20_000)
    start = time.process_time()
    with suppress(DocumentError):
        list(read(file))
    assert time.process_time() - start < 5


def test_read_hocr_character_reference_of_many_digits_raises(tmp_path: Path) -> None:
    file = tmp_path / "page.hocr"
    word = f"<span class=ocrx_word title='bbox 0 0 9 9'>&#{'9' * 5000};</span>"
    file.write_text(f"<div class=ocr_page title='bbox 0 0 99 99'>{word}</div>")
    with pytest.raises(DocumentError, match=r"page\.hocr: cannot be read: ValueError"):
        read_single(file)
