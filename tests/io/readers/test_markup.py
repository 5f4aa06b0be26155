import json
import os
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from formnet.errors import DocumentError, FormNetError, LimitError
from formnet.io.limits import ReadLimits
from ocr_files import (
    ALTO,
    HOCR,
    PAGE,
    azure_response,
    change_alto,
    change_hocr,
    change_page_xml,
    check_raises,
    document_ai_response,
    read_single,
    rounded_boxes,
    write_file,
)

BILLION_LAUGHS = "<!DOCTYPE {root} [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]>"
EXTERNAL_ENTITY = "<!DOCTYPE {root} [<!ENTITY c SYSTEM 'file:///etc/passwd'>]>"
REMOTE_DTD = "<!DOCTYPE {root} SYSTEM 'http://127.0.0.1:9/x.dtd'>"
PARAMETER_ENTITY = "<!DOCTYPE {root} [<!ENTITY % c SYSTEM 'file:///etc/passwd'> %c;]>"


@pytest.mark.parametrize("doctype", [BILLION_LAUGHS, EXTERNAL_ENTITY, REMOTE_DTD, PARAMETER_ENTITY])
@pytest.mark.parametrize("root", ["alto", "PcGts"])
def test_read_xml_with_doctype_raises(doctype: str, root: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="Remove the DOCTYPE"):
        read_single(write_file(tmp_path, doctype.format(root=root) + f"<{root}><Page>&c;</Page></{root}>"))


@pytest.mark.parametrize("doctype", [BILLION_LAUGHS, EXTERNAL_ENTITY, REMOTE_DTD, PARAMETER_ENTITY])
def test_read_hocr_with_doctype_does_not_expand_entities(doctype: str, tmp_path: Path) -> None:
    text = doctype.format(root="html") + HOCR.removeprefix("<!DOCTYPE html>").replace("next", "&c;")
    assert read_single(write_file(tmp_path, text)).texts[-1] == "&c;"


INVALID: list[tuple[Any, str]] = [
    ("<svg><text>x</text></svg>", "unsupported markup <svg>"),
    ("<", "unsupported markup <"),
    ("<!-- <alto/> --> <!-- <html>", "unsupported markup <"),
]


@pytest.mark.parametrize(("content", "message"), INVALID, ids=[message for _, message in INVALID])
def test_read_unsupported_markup_raises(content: Any, message: str, tmp_path: Path) -> None:
    check_raises(write_file(tmp_path, content), message)


def test_read_truncated_file_raises_only_formnet_error(tmp_path: Path) -> None:
    responses = map(json.dumps, (document_ai_response(), azure_response()))
    for content in [HOCR, ALTO.format(version=4), PAGE.format(year="2019-07-15"), *responses]:
        for length in range(1, len(content), 17):
            with suppress(FormNetError):
                read_single(write_file(tmp_path, content[:length]))


def test_read_deeply_nested_markup_does_not_overflow(tmp_path: Path) -> None:
    depth = 50_000
    regions = "<TextRegion>" * depth + "</TextRegion>" * depth
    text = change_page_xml('<TextRegion id="unnamed">', regions + '<TextRegion id="unnamed">')
    assert read_single(write_file(tmp_path, text)).num_words == 5
    groups = "<OrderedGroup>" * depth + "</OrderedGroup>" * depth
    text = change_page_xml("<ReadingOrder>", "<ReadingOrder>" + groups)
    assert read_single(write_file(tmp_path, text)).num_words == 5
    text = change_alto("<PrintSpace/>", "<a>" * depth + "</a>" * depth)
    assert read_single(write_file(tmp_path, text)).num_words == 3
    text = change_hocr("<strong>", "<span>" * depth + "</span>" * depth + "<strong>")
    assert read_single(write_file(tmp_path, text)).num_words == 5


def test_read_text_file_over_limit_raises(tmp_path: Path) -> None:
    for content in (HOCR, document_ai_response()):
        with pytest.raises(LimitError, match="Split the document"):
            read_single(write_file(tmp_path, content), limits=ReadLimits(max_text_bytes=100))


@pytest.mark.ocr
@pytest.mark.skipif(shutil.which("tesseract") is None, reason="tesseract is not installed")
def test_read_tesseract_output_hocr_matches_alto(tmp_path: Path) -> None:
    image = Image.new("RGB", (600, 160), "white")
    font = ImageFont.load_default(28)
    ImageDraw.Draw(image).text((40, 30), "Invoice 2041\nTotal 95.00", "black", font)
    image.save(tmp_path / "scan.png")
    for name, settings in (("words", []), ("letters", ["-c", "hocr_char_boxes=1"])):
        command = ["tesseract", "scan.png", name, "--dpi", "150", *settings, "hocr", "alto"]
        environment = os.environ | {"OMP_THREAD_LIMIT": "1"}
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, timeout=60, env=environment)
    from_hocr, from_alto = read_single(tmp_path / "words.hocr"), read_single(tmp_path / "words.xml")
    assert from_hocr.texts == from_alto.texts == ("Invoice", "2041", "Total", "95.00")
    assert rounded_boxes(from_hocr) == rounded_boxes(from_alto)
    assert read_single(tmp_path / "letters.hocr").pages == from_hocr.pages
    assert [page.image for page in (*from_hocr.pages, *from_alto.pages)] == [tmp_path / "scan.png"] * 2
    assert (from_hocr.pages[0].width, from_alto.pages[0].height) == (600, 160)
