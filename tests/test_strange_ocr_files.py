"""What strangers send as markup or JSON: it is refused in words, and soon."""

import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from formnet.errors import DocumentError, FormNetError, LimitError
from formnet.io import readers
from formnet.io.readers import cloud, hocr, pages
from ocr_files import ALTO, HOCR, PAGE, amazon, azure, block, google, only, saved

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
    (changed(google(), "shardInfo", to={"shardCount": "3"}), "one of 3 parts"),
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


def test_words_that_are_only_promised_are_not_waited_for(tmp_path: Path) -> None:
    head = "<meta name='ocr-capabilities' content='ocr_page ocr_line ocrx_word'>"
    line = "<span class='ocr_line' title='bbox\n 10 10 200 30; x_wconf -1'>Total 9.00</span>"
    page = f"<div class='ocr_page' title='bbox 0 0 300 400'>{line}</div>"
    file = tmp_path / "a.hocr"
    file.write_text(f"<html><head>{head}</head><body>{page}</body></html>")
    (document,) = readers.read(file)
    assert " ".join(document.texts) == "Total 9.00"
