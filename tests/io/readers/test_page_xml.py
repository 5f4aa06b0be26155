from pathlib import Path
from typing import Any

import pytest

from ocr_files import PAGE, change_page_xml, check_raises, read_single, rounded_boxes, write_file


@pytest.mark.parametrize("year", ["2010-03-19", "2013-07-15", "2019-07-15"])
def test_read_page_xml_follows_reading_order(year: str, tmp_path: Path) -> None:
    document = read_single(write_file(tmp_path, PAGE.format(year=year)))
    assert document.texts == ("cell", "better", "old", "to", "9.00")
    assert rounded_boxes(document) == [
        [500, 0, 540, 20], [10, 8, 60, 31], [70, 10, 90, 30], [0, 400, 20, 420], [30, 400, 70, 420],
    ]  # fmt: skip
    assert (document.pages[0].width, document.pages[0].text_source) == (1000, "PAGE XML")
    assert document.pages[0].confidences is None  # one line has none


def test_read_page_xml_without_reading_order_uses_file_order(tmp_path: Path) -> None:
    start, _, rest = PAGE.format(year="2019-07-15").partition("<ReadingOrder>")
    document = read_single(write_file(tmp_path, start + rest.partition("</ReadingOrder>")[2]))
    assert document.texts == ("to", "9.00", "better", "old", "cell")


INVALID: list[tuple[Any, str]] = [
    ("<PcGts/>", "has no pages"),
    (change_page_xml("12,10 60,8 60,30 10,31", "12,10 60"), "points must be a number"),
    (change_page_xml("12,10 60,8 60,30 10,31", "a,b"), "points must be a number"),
    (change_page_xml("12,10 60,8 60,30 10,31", ""), "has no Coords"),
    (change_page_xml('<Point x="70" y="10"/>', "<Point/>"), "has no x"),
    (change_page_xml('index="10"', 'index="last"'), "index must be a number"),
    (change_page_xml('index="1"', 'index="best"'), "index must be a number"),
    (change_page_xml('conf="0.9"', 'conf="sure"'), "conf must be a number"),
    (change_page_xml('imageWidth="1000"', 'imageWidth="-3"'), "invalid page size"),
    (
        "<PcGts><Page><TextRegion><TextEquiv><Unicode>x</Unicode></TextEquiv></TextRegion></Page></PcGts>",
        "text for regions only",
    ),
]


@pytest.mark.parametrize(("content", "message"), INVALID, ids=[message for _, message in INVALID])
def test_read_page_xml_invalid_raises(content: Any, message: str, tmp_path: Path) -> None:
    check_raises(write_file(tmp_path, content), message)
