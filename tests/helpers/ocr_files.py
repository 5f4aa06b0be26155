"""Small OCR files: markup and responses of OCR services, with functions to write and read them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers import read

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


def document_ai_token(
    start: Any, end: Any, box: tuple[float, float, float, float], normalized: bool = True
) -> dict[str, Any]:
    """Build a Document AI token; like the service, omit coordinates that are zero."""
    x0, y0, x1, y1 = box
    corners = [{"x": x0, "y": y0}, {"x": x1, "y": y0}, {"x": x1, "y": y1}, {"x": x0, "y": y1}]
    corners = [{name: value for name, value in corner.items() if value} for corner in corners]
    segment = {"endIndex": end} if start is None else {"startIndex": start, "endIndex": end}
    polygon = {"normalizedVertices" if normalized else "vertices": corners}
    return {"layout": {"textAnchor": {"textSegments": [segment]}, "boundingPoly": polygon, "confidence": 0.5}}


def document_ai_response() -> dict[str, Any]:
    """Build a Document AI response of two pages."""
    first = [document_ai_token(None, "6", (0, 0, 0.5, 0.1)), document_ai_token("6", 11, (0.5, 0, 1, 0.1))]
    last = document_ai_token("11", "14", (1, 2, 3, 4), normalized=False)
    return {
        "text": "Total 9.00\nend",
        "pages": [
            {"dimension": {"width": 200, "height": 100, "unit": "pixels"}, "tokens": first},
            {"dimension": {"width": 20, "height": 10}, "tokens": [last]},
        ],
    }


def azure_response(polygon: Any = (1, 1, 3, 1.5, 3, 2, 1, 2), **changes: Any) -> dict[str, Any]:
    """Build an Azure response of one word."""
    word = {"content": "Total", "polygon": polygon, "confidence": 0.9, **changes}
    page = {"pageNumber": 1, "width": 8.5, "height": 11, "unit": "inch", "words": [word]}
    return {"status": "succeeded", "analyzeResult": {"apiVersion": "2024-11-30", "modelId": "m", "pages": [page]}}


def textract_block(block_type: str, name: str, **keys: Any) -> dict[str, Any]:
    """Build a Textract block."""
    box = {"Left": 0.1, "Top": 0.1, "Width": 0.2, "Height": 0.02}
    return {"BlockType": block_type, "Id": name, "Geometry": {"BoundingBox": box}, "Confidence": 90.0, **keys}


def textract_response(**changes: Any) -> dict[str, Any]:
    """Build a Textract response of three words, two of them on a line."""
    line = textract_block("LINE", "l", Relationships=[{"Type": "CHILD", "Ids": ["b", "a", "gone"]}])
    words = [
        textract_block("WORD", "a", Text="world"),
        textract_block("WORD", "b", Text="hello"),
        textract_block("WORD", "c", Text="alone"),
    ]
    return {"DocumentMetadata": {"Pages": 1}, "Blocks": [textract_block("PAGE", "p"), *words, line], **changes}


def replace_at(response: Any, *path: Any, value: Any) -> Any:
    """Replace the value at a path of keys and indices, and return the response."""
    parent = response
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = value
    return response


def iter_paths(data: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Iterate over the paths of all values inside a response."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield (*path, key)
        yield from iter_paths(value, (*path, key))


def change_hocr(old: str, new: str) -> str:
    """Return HOCR with one replacement."""
    assert old in HOCR
    return HOCR.replace(old, new, 1)


def change_alto(old: str, new: str) -> str:
    """Return ALTO with one replacement."""
    assert old in ALTO
    return ALTO.format(version=3).replace(old, new, 1)


def change_page_xml(old: str, new: str) -> str:
    """Return PAGE with one replacement."""
    assert old in PAGE
    return PAGE.format(year="2019-07-15").replace(old, new, 1)


def write_file(folder: Path, content: Any, name: str = "file") -> Path:
    """Write text, bytes, or any other content as JSON."""
    path = folder / name
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def read_single(path: Path, ocr: Any = "auto", limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Read a file and check that it holds exactly one document."""
    (document,) = read(path, ocr, limits)
    return document


def check_raises(path: Path, message: str) -> None:
    """Check that reading a file raises a short `DocumentError` with the message and the path."""
    with pytest.raises(DocumentError) as raised:
        read_single(path)
    assert message in str(raised.value)
    assert str(path) in str(raised.value)
    assert len(str(raised.value)) < 600


def rounded_boxes(document: Document) -> list[list[float]]:
    """Return the boxes of a document, rounded to six digits."""
    boxes: list[list[float]] = document.boxes.round(6).tolist()
    return boxes
