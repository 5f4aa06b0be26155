"""Markup and the services' JSON: real answers, small ones of our own, and what strangers may send instead."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw, ImageFont

from formnet.document import Document
from formnet.errors import DocumentError, FormNetError, LimitError
from formnet.readers import cloud, hocr, pages, read, textract

HOCR = """<!DOCTYPE html><html><head><title>x</title></head><body>
<div class='ocr_page' title='image "scans/scan.png"; bbox 10 20 610 820; ppageno 0'>
 <!-- <span class='ocrx_word' title='bbox 1 2 3 4'>hidden</span> -->
 <p class=ocr_par><span class='ocr_line' title="bbox 50 40 300 60">
  <span class='ocrx_word' id=w1 title='bbox 50 40 130 60; x_wconf 96'><strong>Inv</strong>oice</span>
  <span class='ocrx_word' title='x_wconf 40; bbox 140 40 200 60'>
   <span class='ocrx_cinfo' title='x_bboxes 1 2 3 4'>R</span>
   <span class='ocrx_cinfo'>&amp;</span>
   <span class='ocrx_cinfo'>D</span>
  </span><br>
  <SPAN CLASS="big ocrx_word" TITLE="bbox 210 40 300 60; x_wconf 100">9&nbsp;&lt;<em>10</em></SPAN>
 </span>
</div>
<div class="ocr_page"><span class="ocrx_word" title="bbox 0 0 5 5">next</span></div>
</body></html>"""

ALTO = """<?xml version="1.0"?>
<alto xmlns="http://www.loc.gov/standards/alto/ns-v{version}#"><Description><MeasurementUnit>mm10</MeasurementUnit>
<sourceImageInformation><fileName>C:\\scans\\scan.png</fileName></sourceImageInformation></Description><Layout>
<Page WIDTH="2100" HEIGHT="2970"><PrintSpace><ComposedBlock><TextBlock><TextLine>
<String CONTENT="Rech" HPOS="100" VPOS="200" WIDTH="80" HEIGHT="20" WC="0.5" SUBS_CONTENT="Rechnung"/><HYP CONTENT="-"/>
<SP/><String CONTENT="Nr. 7" HPOS="200" VPOS="200" WIDTH="50" HEIGHT="20" WC="1"/>
</TextLine></TextBlock></ComposedBlock></PrintSpace></Page>
<Page WIDTH="2100" HEIGHT="2970"><PrintSpace/></Page></Layout></alto>"""

PAGE = """<PcGts xmlns="http://schema.primaresearch.org/PAGE/gts/pagecontent/{year}"><Metadata/>
<Page imageFilename="../other/scan.png" imageWidth="1000" imageHeight="500">
<ReadingOrder><OrderedGroup id="g"><RegionRefIndexed index="10" regionRef="left"/>
<UnorderedGroupIndexed id="h" index="2"><RegionRef regionRef="right"/></UnorderedGroupIndexed></OrderedGroup>
</ReadingOrder>
<TextRegion id="unnamed"><TextLine id="u"><Coords points="0,400 70,400 70,420 0,420"/>
 <TextEquiv><Unicode>to 9.00</Unicode></TextEquiv></TextLine></TextRegion>
<TextRegion id="left"><TextLine id="a"><Coords points="0,0 9,9"/>
 <Word id="w1"><Coords points="12,10 60,8 60,30 10,31"/>
  <TextEquiv index="1" conf="0.2"><Unicode>worse</Unicode></TextEquiv>
  <TextEquiv index="0" conf="0.9"><Unicode>better</Unicode></TextEquiv></Word>
 <Word id="w2"><Coords><Point x="70" y="10"/><Point x="90" y="30"/></Coords>
  <TextEquiv conf="0.8"><Unicode>old</Unicode></TextEquiv></Word>
 <TextEquiv><Unicode>better old</Unicode></TextEquiv></TextLine></TextRegion>
<TableRegion id="right"><TextRegion id="cell"><TextLine id="b"><Coords points="500,0 540,0 540,20"/><Word/>
 <TextEquiv conf="1"><Unicode>cell</Unicode></TextEquiv></TextLine></TextRegion></TableRegion>
</Page></PcGts>"""


def token(start: Any, end: Any, box: tuple[float, float, float, float], shares: bool = True) -> dict[str, Any]:
    x0, y0, x1, y1 = box
    corners = [{"x": x0, "y": y0}, {"x": x1, "y": y0}, {"x": x1, "y": y1}, {"x": x0, "y": y1}]
    corners = [{name: value for name, value in corner.items() if value} for corner in corners]
    segment = {"endIndex": end} if start is None else {"startIndex": start, "endIndex": end}
    outline = {"normalizedVertices" if shares else "vertices": corners}
    return {"layout": {"textAnchor": {"textSegments": [segment]}, "boundingPoly": outline, "confidence": 0.5}}


def google() -> dict[str, Any]:
    first = [token(None, "6", (0, 0, 0.5, 0.1)), token("6", 11, (0.5, 0, 1, 0.1))]
    return {
        "text": "Total 9.00\nend",
        "pages": [
            {"dimension": {"width": 200, "height": 100, "unit": "pixels"}, "tokens": first},
            {"dimension": {"width": 20, "height": 10}, "tokens": [token("11", "14", (1, 2, 3, 4), shares=False)]},
        ],
    }


def azure(polygon: Any = (1, 1, 3, 1.5, 3, 2, 1, 2), **change: Any) -> dict[str, Any]:
    word = {"content": "Total", "polygon": polygon, "confidence": 0.9, **change}
    page = {"pageNumber": 1, "width": 8.5, "height": 11, "unit": "inch", "words": [word]}
    return {"status": "succeeded", "analyzeResult": {"apiVersion": "2024-11-30", "modelId": "m", "pages": [page]}}


def block(kind: str, name: str, **more: Any) -> dict[str, Any]:
    place = {"Left": 0.1, "Top": 0.1, "Width": 0.2, "Height": 0.02}
    return {"BlockType": kind, "Id": name, "Geometry": {"BoundingBox": place}, "Confidence": 90.0, **more}


def amazon(**change: Any) -> dict[str, Any]:
    line = block("LINE", "l", Relationships=[{"Type": "CHILD", "Ids": ["b", "a", "gone"]}])
    words = [block("WORD", "a", Text="world"), block("WORD", "b", Text="hello"), block("WORD", "c", Text="alone")]
    return {"DocumentMetadata": {"Pages": 1}, "Blocks": [block("PAGE", "p"), *words, line], **change}


def saved(folder: Path, content: Any, name: str = "file") -> Path:
    path = folder / name
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def only(path: Path) -> Document:
    (document,) = read(path)
    return document


def boxes(document: Document) -> list[list[float]]:
    rounded: list[list[float]] = document.boxes.round(6).tolist()
    return rounded


# Markup.


def test_hocr_need_not_be_xml(tmp_path: Path) -> None:
    Image.new("L", (600, 800)).save(tmp_path / "scan.png")
    path = saved(tmp_path, HOCR)
    document = only(path)
    page, other = document.pages
    assert document.id == str(path)
    assert page.texts == ("Invoice", "R&D", "9", "<10")
    assert (page.width, page.height, page.read_by) == (600, 800, "hOCR")
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
    assert (page.width, page.height, page.read_by) == (2100, 2970, "ALTO")
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
    assert (document.pages[0].width, document.pages[0].read_by) == (1000, "PAGE XML")
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


# What services answer.


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
    assert {page.read_by for page in document.pages} == {service}
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
    assert document.pages[0].read_by == "Google Document AI"
    assert only(saved(tmp_path, {"document": google()})) == document


def test_our_own_document_may_stand_alone(tmp_path: Path) -> None:
    page = {"words": ["a"], "boxes": [[0, 0, 1, 1]], "width": 9, "height": 9}
    assert only(saved(tmp_path, {"id": "x", "pages": [page]})) == only(saved(tmp_path, {"id": "x", **page}, "x.json"))
    document = only(saved(tmp_path, google()))
    assert only(saved(tmp_path, "\ufeff" + json.dumps(document.to_json(), indent=1))) == document


# What strangers send.

LAUGHS = "<!DOCTYPE {root} [<!ENTITY a 'ha'><!ENTITY b '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;&b;'>]>"
OUTSIDE = "<!DOCTYPE {root} [<!ENTITY c SYSTEM 'file:///etc/passwd'>]>"
REMOTE = "<!DOCTYPE {root} SYSTEM 'http://127.0.0.1:9/x.dtd'>"
PARAMETER = "<!DOCTYPE {root} [<!ENTITY % c SYSTEM 'file:///etc/passwd'> %c;]>"


@pytest.mark.parametrize("trick", [LAUGHS, OUTSIDE, REMOTE, PARAMETER])
@pytest.mark.parametrize("root", ["alto", "PcGts"])
def test_document_types_are_refused(trick: str, root: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="remove the DOCTYPE"):
        only(saved(tmp_path, trick.format(root=root) + f"<{root}><Page>&c;</Page></{root}>"))


@pytest.mark.parametrize("trick", [LAUGHS, OUTSIDE, REMOTE, PARAMETER])
def test_entities_mean_nothing_in_hocr(trick: str, tmp_path: Path) -> None:
    text = trick.format(root="html") + HOCR.removeprefix("<!DOCTYPE html>").replace("next", "&c;")
    assert only(saved(tmp_path, text)).texts[-1] == "&c;"


def in_alto(old: str, new: str) -> str:
    assert old in ALTO
    return ALTO.format(version=3).replace(old, new, 1)


def in_page(old: str, new: str) -> str:
    assert old in PAGE
    return PAGE.format(year="2019-07-15").replace(old, new, 1)


def in_hocr(old: str, new: str) -> str:
    assert old in HOCR
    return HOCR.replace(old, new, 1)


def changed(answer: Any, *way: Any, to: Any) -> Any:
    """Put something else at one place of an answer."""
    place = answer
    for key in way[:-1]:
        place = place[key]
    place[way[-1]] = to
    return answer


A_WORD = ("analyzeResult", "pages", 0, "words", 0)
A_TOKEN = ("pages", 0, "tokens", 0, "layout")
A_SEGMENT = (*A_TOKEN, "textAnchor", "textSegments", 0)


WRONG: list[tuple[Any, str]] = [
    # hOCR
    ("<html><p>Nothing marked.</p></html>", "no hOCR"),
    ("<html><meta content='ocr_page'></html>", "has no pages"),
    ("<div id='ocr_page'><span class=ocrx_word>x</span></div>", "before the first ocr_page"),
    (in_hocr("bbox 50 40 130 60", "bbox 50 40 130"), "no bbox of four numbers"),
    (in_hocr("bbox 50 40 130 60", "bbox 50 40 130 wide"), "should be a number"),
    (in_hocr("bbox 50 40 130 60", "bbox 50 40 130 nan"), "should be a number"),
    (in_hocr("bbox 50 40 130 60; ", ""), "no bbox"),
    (in_hocr("bbox 50 40 130 60", "bbox 50 40 130 1e300"), "finite numbers"),
    (in_hocr("bbox 10 20 610 820", "bbox 0 0 0 0"), "cannot be"),
    (in_hocr("x_wconf 96", "x_wconf much"), "should be a number"),
    (in_hocr("x_wconf 96", "x_wconf 960"), "not between 0 and 1"),
    (HOCR.replace("next", "Zürich").encode("latin-1"), "not in its encoding: 'utf-8' codec"),
    (b"<?xml encoding='punycode'?>" + HOCR.encode(), "save it as UTF-8"),
    (b"<?xml encoding='nonsense'?>" + HOCR.encode(), "save it as UTF-8"),
    ("<html>".encode("utf-16") + b"\0", "not in its encoding: 'utf-16"),
    # ALTO
    ("<alto/>", "has no pages"),
    ("<alto>", "not well-formed"),
    (ALTO.format(version=3)[:-20], "not well-formed"),
    (in_alto('HPOS="100"', 'HPOS="left"'), "HPOS should be a number"),
    (in_alto('HPOS="100" ', ""), "has no HPOS"),
    (in_alto('HEIGHT="20" WC="0.5"', 'HEIGHT="inf"'), "HEIGHT should be a number"),
    (in_alto('CONTENT="Rech" ', ""), "has no CONTENT"),
    (in_alto('WC="0.5"', 'WC="7"'), "not between 0 and 1"),
    (in_alto('WIDTH="2100"', 'WIDTH="0"'), "cannot be"),
    (in_alto('WIDTH="2100"', 'WIDTH="A4"'), "WIDTH should be a number"),
    (b"<?xml version='1.0' encoding='nonsense'?><alto/>", "not well-formed"),
    (b"<?xml version='1.0' encoding='shift_jis'?><alto/>", "not well-formed"),
    (b"<alto>\xff</alto>", "not well-formed"),
    # PAGE XML
    ("<PcGts/>", "has no pages"),
    (in_page("12,10 60,8 60,30 10,31", "12,10 60"), "points should be a number"),
    (in_page("12,10 60,8 60,30 10,31", "a,b"), "points should be a number"),
    (in_page("12,10 60,8 60,30 10,31", ""), "has no Coords"),
    (in_page('<Point x="70" y="10"/>', "<Point/>"), "has no x"),
    (in_page('index="10"', 'index="last"'), "index should be a number"),
    (in_page('index="1"', 'index="best"'), "index should be a number"),
    (in_page('conf="0.9"', 'conf="sure"'), "conf should be a number"),
    (in_page('imageWidth="1000"', 'imageWidth="-3"'), "cannot be"),
    (
        "<PcGts><Page><TextRegion><TextEquiv><Unicode>x</Unicode></TextEquiv></TextRegion></Page></PcGts>",
        "whole regions only",
    ),
    # Other markup
    ("<svg><text>x</text></svg>", "<svg> is no markup"),
    ("<", "is no markup"),
    ("<!-- <alto/> --> <!-- <html>", "is no markup"),
    # JSON
    ("{", "is not JSON"),
    ("[" * 200_000, "is not JSON"),
    ('{"Blocks": NaN}', "is not JSON"),
    (b'{"Blocks": "\xff"}', "is not UTF-8"),
    ('{"n": ' + "9" * 5000 + "}", "is not JSON"),
    ("[]", "of no kind"),
    ("{}", "of no kind"),
    ([1], "of no kind"),
    ({"document": "x", "labels": []}, "of no kind"),
    ({"pages": [{"words": [{"text": "x"}], "boxes": []}], "id": "x"}, "a word is a string"),
    ({"pages": []}, "needs an 'id'"),
    # Textract
    ({"Blocks": {}}, "'Blocks' should be a list, not an object"),
    ({"Blocks": []}, "has no pages"),
    ({"Blocks": [1]}, "block 0: an object with 'BlockType'"),
    ([{"Blocks": []}, {"Blocks": 1}], "'Blocks' should be a list"),
    (amazon(DocumentMetadata=3), "'DocumentMetadata' should be an object"),
    (amazon(DocumentMetadata={"Pages": "1"}), "'Pages' should be a whole number"),
    (changed(amazon(), "Blocks", 1, "Page", to=True), "'Page' should be a whole number"),
    (changed(amazon(), "Blocks", 1, "Id", to=["a"]), "'Id' should be a string"),
    (changed(amazon(), "Blocks", 1, "Text", to=None), "'Text' is missing"),
    (changed(amazon(), "Blocks", 1, "Text", to="\ud800"), "surrogate"),
    (changed(amazon(), "Blocks", 1, "Geometry", to=[]), "'Geometry' should be an object"),
    (changed(amazon(), "Blocks", 1, "Geometry", "BoundingBox", to=None), "'BoundingBox' is missing"),
    (changed(amazon(), "Blocks", 1, "Geometry", "BoundingBox", "Left", to="0"), "'Left' should be a number"),
    (changed(amazon(), "Blocks", 1, "Geometry", "BoundingBox", "Width", to=1e308), "finite numbers"),
    (changed(amazon(), "Blocks", 1, "Confidence", to=[]), "'Confidence' should be a number"),
    (changed(amazon(), "Blocks", 1, "Confidence", to=-1), "not between 0 and 1"),
    (changed(amazon(), "Blocks", 4, "Relationships", to={}), "'Relationships' should be a list"),
    (changed(amazon(), "Blocks", 4, "Relationships", to=["x"]), "an object with 'Ids'"),
    (changed(amazon(), "Blocks", 4, "Relationships", 0, "Ids", to="abc"), "'Ids' should be a list"),
    # Azure
    ({"analyzeResult": []}, "'analyzeResult' should be an object"),
    ({"analyzeResult": {}}, "'pages' is missing"),
    ({"analyzeResult": {"pages": {}}}, "'pages' should be a list"),
    ({"analyzeResult": {"pages": []}}, "has no pages"),
    ({"analyzeResult": {"pages": [1]}}, "no 'words' on any"),
    ({"analyzeResult": {"readResults": "x"}}, "'readResults' should be a list"),
    ({"readResults": [{"lines": [1]}]}, "an object with 'words'"),
    ({"readResults": [{"lines": [{"words": [{"text": "x"}]}]}]}, "'boundingBox' is missing"),
    ({"readResults": [{"lines": []}, 1]}, "an object with 'width'"),
    (azure([1, 2, 3]), "pairs of numbers"),
    (azure([]), "pairs of numbers"),
    (azure(["1", "2", "3", "4"]), "'polygon' should be a number"),
    (azure([{"x": 1, "y": 2}, 7]), "an object with 'x'"),
    (azure([1, 2, 3, 10**400]), "too large"),
    (azure(content=5), "'content' should be a string"),
    (azure(confidence="high"), "'confidence' should be a number"),
    (changed(azure(), *A_WORD, to="Total"), "an object with 'content'"),
    (changed(azure(), *A_WORD[:-1], to="Total"), "'words' should be a list"),
    (changed(azure(), *A_WORD[:3], "width", to=True), "'width' should be a number"),
    # Document AI
    ({"text": 5, "pages": []}, "'text' should be a string"),
    ({"text": "", "pages": 5}, "'pages' should be a list"),
    ({"text": "", "pages": []}, "has no pages"),
    ({"text": "", "pages": [{}]}, "no 'tokens' on any"),
    (changed(google(), "pages", 1, to=None), "not nothing"),
    (changed(google(), "pages", 0, "tokens", to={}), "'tokens' should be a list"),
    (changed(google(), "pages", 0, "tokens", 0, to=[]), "an object with 'layout'"),
    (changed(google(), "pages", 0, "dimension", to=None), "'dimension' is not told"),
    (changed(google(), "pages", 0, "dimension", "width", to="wide"), "'width' should be a number"),
    (changed(google(), *A_TOKEN, "textAnchor", to="x"), "'textAnchor' should be an object"),
    (changed(google(), *A_SEGMENT, to=5), "a text segment should be an object"),
    (changed(google(), *A_SEGMENT, "endIndex", to="99"), "points outside the text"),
    (changed(google(), *A_SEGMENT, "endIndex", to=None), "points outside the text"),
    (changed(google(), *A_SEGMENT, "startIndex", to=-1), "a place in the text"),
    (changed(google(), *A_SEGMENT, "startIndex", to="9" * 5000), "a place in the text"),
    (changed(google(), *A_SEGMENT, "startIndex", to="²"), "a place in the text"),
    (changed(google(), *A_SEGMENT[:-1], to=[{"endIndex": 14}] * 5), "overlap so much"),
    (changed(google(), *A_TOKEN, "boundingPoly", to={}), "'vertices' is missing"),
    (changed(google(), *A_TOKEN, "boundingPoly", "normalizedVertices", to=[{}]), "has 1 corners"),
    (changed(google(), *A_TOKEN, "boundingPoly", "normalizedVertices", to=[1, 2]), "an object with 'x'"),
    (changed(google(), *A_TOKEN, "confidence", to={}), "'confidence' should be a number"),
]


@pytest.mark.parametrize(("content", "says"), WRONG, ids=[says for _, says in WRONG])
def test_what_is_wrong_is_said(content: Any, says: str, tmp_path: Path) -> None:
    path = saved(tmp_path, content)
    with pytest.raises(DocumentError) as refusal:
        only(path)
    assert says in str(refusal.value)
    assert str(path) in str(refusal.value)
    assert len(str(refusal.value)) < 600


def places(data: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Give the way to everything inside an answer."""
    inside = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in inside:
        yield (*way, key)
        yield from places(value, (*way, key))


@pytest.mark.parametrize("answer", [google(), azure([1, 1, 2, 2]), amazon(), [amazon()]])
def test_put_anywhere_nothing_else_is_raised(answer: Any, tmp_path: Path) -> None:
    wrong = (None, True, -1, 1e308, 10**400, float("inf"), "", "x", "\ud800", [], [[]], {}, {"x": 1}, ["a"])
    for way in places(answer):
        for value in wrong:
            with suppress(FormNetError):
                cloud.parse(changed(deepcopy(answer), *way, to=value), tmp_path / "file")


def test_cut_off_anywhere_nothing_else_is_raised(tmp_path: Path) -> None:
    wholes = [HOCR, ALTO.format(version=4), PAGE.format(year="2019-07-15"), *map(json.dumps, (google(), azure()))]
    for whole in wholes:
        for length in range(1, len(whole), 17):
            with suppress(FormNetError):
                only(saved(tmp_path, whole[:length]))


def test_depth_is_no_danger(tmp_path: Path) -> None:
    deep = 50_000
    nested = "<TextRegion>" * deep + "</TextRegion>" * deep
    assert (
        only(saved(tmp_path, in_page('<TextRegion id="unnamed">', nested + '<TextRegion id="unnamed">'))).num_words == 5
    )
    groups = "<OrderedGroup>" * deep + "</OrderedGroup>" * deep
    assert only(saved(tmp_path, in_page("<ReadingOrder>", "<ReadingOrder>" + groups))).num_words == 5
    assert only(saved(tmp_path, in_alto("<PrintSpace/>", "<a>" * deep + "</a>" * deep))).num_words == 3
    assert only(saved(tmp_path, in_hocr("<strong>", "<span>" * deep + "</span>" * deep + "<strong>"))).num_words == 5


@pytest.mark.parametrize(
    "unit", ["<!--", "<a ", "<a b='", '<a "', "<![CDATA[", "</", "&", "<a \"'", "<p class ", "ocr "]
)
def test_broken_html_takes_no_time(unit: str, tmp_path: Path) -> None:
    path = saved(tmp_path, HOCR + unit * 100_000)  # the standard library's parser would take an hour
    assert only(path).num_words == 5
    hocr.parse(f"{HOCR}<a {unit * 100_000}>", path)


def test_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LimitError, match="more than 2,000 pages"):
        only(saved(tmp_path, "<div class=ocr_page></div>" * 2001))
    with pytest.raises(LimitError, match="more than 2,000 pages"):
        only(saved(tmp_path, {"Blocks": [block("PAGE", str(i), Page=i) for i in range(2001)]}))
    monkeypatch.setattr(pages, "MOST_BYTES", 100)
    for content in (HOCR, google()):
        with pytest.raises(LimitError, match="split the document"):
            only(saved(tmp_path, content))
