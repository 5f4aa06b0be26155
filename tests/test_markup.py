"""Markup: hOCR, ALTO and PAGE XML, and the images that they name."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr_files import ALTO, HOCR, PAGE, boxes, only, saved


def test_hocr_need_not_be_xml(tmp_path: Path) -> None:
    Image.new("L", (600, 800)).save(tmp_path / "scan.png")
    path = saved(tmp_path, HOCR)
    document = only(path)
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
def test_hocr_is_read_in_its_encoding(encoding: str, tmp_path: Path) -> None:
    text = f"<?xml version='1.0' encoding='{encoding.removesuffix('-sig')}'?>" + HOCR.replace("next", "Zürich")
    assert only(saved(tmp_path, text.encode(encoding))).texts[-1] == "Zürich"


def test_hocr_of_lines_is_split_into_words(tmp_path: Path) -> None:
    text = "<div class=ocr_page title='bbox 0 0 99 99'><p><span class=ocr_line title='bbox 0 0 70 9'>to 9.00</span>"
    document = only(saved(tmp_path, text))
    assert document.texts == ("to", "9.00")
    assert boxes(document) == [[0, 0, 20, 9], [30, 0, 70, 9]]


def test_hocr_left_open_ends_where_the_next_word_begins(tmp_path: Path) -> None:
    word = "<span class=ocrx_word title='bbox 0 0 9 9'>"
    assert only(saved(tmp_path, f"<div class=ocr_page>{word}a{word}b<div class=ocr_page>")).texts == ("a", "b")


def test_pages_of_one_image_are_its_frames(tmp_path: Path) -> None:
    (tmp_path / "scan.tif").touch()
    (tmp_path / "last.tif").touch()
    names = ("scan.tif", "scan.tif", "last.tif")
    text = "".join(f"<div class=ocr_page title='image {name}; bbox 0 0 9 9'></div>" for name in names)
    assert [(p.image and p.image.name, p.frame) for p in only(saved(tmp_path, text)).pages] == [
        ("scan.tif", 0),
        ("scan.tif", 1),
        ("last.tif", 0),
    ]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_alto(version: int, tmp_path: Path) -> None:
    (tmp_path / "scan.png").touch()
    document = only(saved(tmp_path, ALTO.format(version=version)))
    page, empty = document.pages
    assert page.texts == ("Rech", "Nr.", "7")
    assert page.boxes.tolist() == [[100, 200, 180, 220], [200, 200, 230, 220], [240, 200, 250, 220]]
    assert (page.width, page.height, page.text_source) == (2100, 2970, "ALTO")
    assert page.confidences is not None
    assert page.confidences.tolist() == [0.5, 1, 1]
    assert (page.image, page.frame) == (tmp_path / "scan.png", 0)
    assert (empty.texts, empty.frame) == ((), 1)


@pytest.mark.parametrize("year", ["2010-03-19", "2013-07-15", "2019-07-15"])
def test_page_xml_is_read_in_its_reading_order(year: str, tmp_path: Path) -> None:
    document = only(saved(tmp_path, PAGE.format(year=year)))
    assert document.texts == ("cell", "better", "old", "to", "9.00")
    assert boxes(document) == [
        [500, 0, 540, 20], [10, 8, 60, 31], [70, 10, 90, 30], [0, 400, 20, 420], [30, 400, 70, 420],
    ]  # fmt: skip
    assert (document.pages[0].width, document.pages[0].text_source) == (1000, "PAGE XML")
    assert document.pages[0].confidences is None  # one line has none


def test_page_xml_without_an_order_is_read_as_it_stands(tmp_path: Path) -> None:
    start, _, rest = PAGE.format(year="2019-07-15").partition("<ReadingOrder>")
    document = only(saved(tmp_path, start + rest.partition("</ReadingOrder>")[2]))
    assert document.texts == ("to", "9.00", "better", "old", "cell")


@pytest.mark.parametrize(
    "name", ["../secret.png", "..\\secret.png", "/etc/passwd", "file:///etc/passwd", "..", "sub/.."]
)
def test_no_image_is_looked_for_outside_the_folder(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.png").touch()
    for text in (
        HOCR.replace("scans/scan.png", name),
        ALTO.format(version=3).replace("C:\\scans\\scan.png", name),
        PAGE.format(year="2019-07-15").replace("../other/scan.png", name),
    ):
        assert all(page.image is None for page in only(saved(folder, text)).pages)


@pytest.mark.parametrize("name", ["x" * 5000 + ".png", "a&#0;b", "\u2028", "scan.png?"])
def test_no_name_of_an_image_is_fatal(name: str, tmp_path: Path) -> None:
    assert only(saved(tmp_path, HOCR.replace("scans/scan.png", name))).pages[0].image is None


@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_what_tesseract_writes_is_read_back(tmp_path: Path) -> None:
    image = Image.new("RGB", (600, 160), "white")
    font = ImageFont.load_default(28)
    ImageDraw.Draw(image).text((40, 30), "Invoice 2041\nTotal 95.00", "black", font)
    image.save(tmp_path / "scan.png")
    for name, settings in (("words", []), ("letters", ["-c", "hocr_char_boxes=1"])):
        run = ["tesseract", "scan.png", name, "--dpi", "150", *settings, "hocr", "alto"]
        alone = os.environ | {"OMP_THREAD_LIMIT": "1"}
        subprocess.run(run, cwd=tmp_path, check=True, capture_output=True, timeout=60, env=alone)
    from_hocr, from_alto = only(tmp_path / "words.hocr"), only(tmp_path / "words.xml")
    assert from_hocr.texts == from_alto.texts == ("Invoice", "2041", "Total", "95.00")
    assert boxes(from_hocr) == boxes(from_alto)
    assert only(tmp_path / "letters.hocr").pages == from_hocr.pages
    assert [page.image for page in (*from_hocr.pages, *from_alto.pages)] == [tmp_path / "scan.png"] * 2
    assert (from_hocr.pages[0].width, from_alto.pages[0].height) == (600, 160)
