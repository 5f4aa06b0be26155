"""Small files of OCR's results: markup, the services' JSON, and how to read them."""

import json
from pathlib import Path
from typing import Any

from formnet.document import Document
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
