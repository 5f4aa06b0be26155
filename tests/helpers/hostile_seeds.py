"""Small valid files of each format: seeds for the fuzzer and for mutation tests."""

import json
from io import BytesIO

from paper import form_pdf, picture, text_pdf

_WORD = "<span class='ocrx_word' title='bbox 1 2 30 12; x_wconf 95'>Total</span>"
_ALTO = (
    '<alto xmlns="http://www.loc.gov/standards/alto/ns-v3#"><Layout><Page ID="p" WIDTH="100" HEIGHT="200"><PrintSpace>'
    '<TextBlock><TextLine><String CONTENT="Total" HPOS="1" VPOS="2" WIDTH="30" HEIGHT="10" WC="0.9"/></TextLine>'
    "</TextBlock></PrintSpace></Page></Layout></alto>"
)
_PAGE = (
    '<PcGts xmlns="http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15"><Page imageWidth="100" '
    'imageHeight="200"><ReadingOrder><OrderedGroup id="g"><RegionRefIndexed index="0" regionRef="r"/></OrderedGroup>'
    '</ReadingOrder><TextRegion id="r"><TextLine id="l"><Word id="w"><Coords points="1,2 30,2 30,12 1,12"/><TextEquiv '
    'conf="0.9"><Unicode>Total</Unicode></TextEquiv></Word></TextLine></TextRegion></Page></PcGts>'
)
_BOX = {"Left": 0.1, "Top": 0.1, "Width": 0.2, "Height": 0.02}
_TEXTRACT = {
    "DocumentMetadata": {"Pages": 1},
    "Blocks": [
        {"BlockType": "PAGE", "Id": "p", "Page": 1, "Relationships": [{"Type": "CHILD", "Ids": ["l"]}]},
        {"BlockType": "LINE", "Id": "l", "Page": 1, "Relationships": [{"Type": "CHILD", "Ids": ["w"]}]},
        {
            "BlockType": "WORD",
            "Id": "w",
            "Page": 1,
            "Text": "Total",
            "Confidence": 99.0,
            "Geometry": {"BoundingBox": _BOX},
        },
    ],
}
_CORNERS = [1, 2, 30, 2, 30, 12, 1, 12]
_AZURE = {
    "analyzeResult": {
        "pages": [
            {
                "pageNumber": 1,
                "width": 8.5,
                "height": 11,
                "unit": "inch",
                "words": [{"content": "Total", "polygon": [c / 10 for c in _CORNERS], "confidence": 0.99}],
            }
        ]
    }
}
_AZURE_OLD = {
    "analyzeResult": {
        "readResults": [
            {"page": 1, "width": 100, "height": 200, "lines": [{"words": [{"text": "Total", "boundingBox": _CORNERS}]}]}
        ]
    }
}
_DOCUMENT_AI = {
    "text": "Total 9.00\n",
    "pages": [
        {
            "dimension": {"width": 100, "height": 200},
            "tokens": [
                {
                    "layout": {
                        "textAnchor": {"textSegments": [{"startIndex": "0", "endIndex": "6"}]},
                        "confidence": 0.9,
                        "boundingPoly": {"normalizedVertices": [{"x": 0.1, "y": 0.1}, {"x": 0.3, "y": 0.12}]},
                    }
                }
            ],
        }
    ],
}
_OWN = {
    "id": "a",
    "pages": [{"width": 100, "height": 200, "words": ["Total", "9"], "boxes": [[1, 2, 30, 12], [40, 2, 50, 12]]}],
    "entities": [{"label": "total", "words": [1], "score": 0.5}],
    "links": [],
    "fields": {"total": "9"},
}
_REGION = {"x": 1.0, "y": 2.0, "width": 10.0, "height": 3.0, "rotation": 0}
_LABEL_STUDIO = [
    {
        "id": 1,
        "data": {"ocr": "/data/local-files/?d=scan.png"},
        "annotations": [
            {
                "result": [
                    {
                        "id": "a",
                        "type": "textarea",
                        "original_width": 100,
                        "original_height": 200,
                        "value": {**_REGION, "text": ["Total 9"]},
                    },
                    {
                        "id": "a",
                        "type": "labels",
                        "original_width": 100,
                        "original_height": 200,
                        "value": {**_REGION, "labels": ["total"]},
                    },
                ]
            }
        ],
    }
]


def _encode_image(image_format: str) -> bytes:
    file = BytesIO()
    picture(("Total 9",), (60, 40)).save(file, image_format)
    return file.getvalue()


def _json(data: object) -> bytes:
    return json.dumps(data).encode()


SEEDS = {
    "pdf": [text_pdf(), text_pdf([("a b",)], rotate=90), form_pdf()],
    "image": [_encode_image(name) for name in ("PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP")],
    "hocr": [f"<html><body><div class='ocr_page' title='bbox 0 0 100 200'>{_WORD}</div></body></html>".encode()],
    "alto": [_ALTO.encode()],
    "page-xml": [_PAGE.encode()],
    "textract": [_json(_TEXTRACT)],
    "azure": [_json(_AZURE), _json(_AZURE_OLD)],
    "document-ai": [_json(_DOCUMENT_AI)],
    "jsonl": [_json(_OWN)],
    "label-studio": [_json(_LABEL_STUDIO)],
}
