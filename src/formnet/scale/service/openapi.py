"""What OpenAPI says of a request's body and of errors, with examples that work."""

from typing import Any

from pydantic import BaseModel

from formnet.scale.service.schemas import ErrorReply

#: A document that can be sent as it stands.
DOCUMENT: dict[str, Any] = {
    "id": "receipt-1",
    "pages": [
        {
            "width": 200,
            "height": 100,
            "words": ["ACME", "Total", "9.00"],
            "boxes": [[10, 10, 60, 20], [10, 40, 50, 50], [70, 40, 99, 50]],
        }
    ],
}
REPLY = {
    "request_id": "3f0c9a52d7d84c7c9a3c0c1f7a5e2b11",
    "model": "receipts",
    "documents": [
        {
            "document": "receipt-1",
            "pages": [{"page": 1, "width": 200, "height": 100, "text_source": None}],
            "entities": [
                {
                    "label": "total",
                    "text": "9.00",
                    "value": {"kind": "amount", "value": "9.00"},
                    "page": 1,
                    "boxes": [[70, 40, 99, 50]],
                    "words": [2],
                    "score": 0.9981,
                    "ocr_score": None,
                    "review": False,
                }
            ],
        }
    ],
}

_NUMBER = {"type": "number"}
_PAGE = {
    "type": "object",
    "required": ["words", "boxes"],
    "properties": {
        "width": {**_NUMBER, "description": "In the units of the boxes; without it, guessed around the words."},
        "height": _NUMBER,
        "words": {"type": "array", "items": {"type": "string"}, "description": "In reading order."},
        "boxes": {
            "type": "array",
            "items": {"type": "array", "items": _NUMBER, "minItems": 4, "maxItems": 4},
            "description": "x0, y0, x1, y1 of each word; the origin is top left.",
        },
        "confidences": {"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1}},
    },
}
_DOCUMENT = {
    "type": "object",
    "required": ["id", "pages"],
    "properties": {"id": {"type": "string", "minLength": 1}, "pages": {"type": "array", "items": _PAGE}},
}
_DOCUMENTS = {"type": "array", "items": _DOCUMENT, "minItems": 1}

BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["files"],
                    "properties": {
                        "files": {
                            "type": "array",
                            "minItems": 1,
                            "items": {"type": "string", "format": "binary"},
                            "description": "PDFs, pictures, or what OCR engines and services write; a file a document.",
                        }
                    },
                }
            },
            "application/json": {
                "schema": {
                    "anyOf": [
                        _DOCUMENT,
                        _DOCUMENTS,
                        {"type": "object", "required": ["documents"], "properties": {"documents": _DOCUMENTS}},
                    ]
                },
                "examples": {
                    "one": {"summary": "A document", "value": DOCUMENT},
                    "several": {"summary": "Several documents", "value": {"documents": [DOCUMENT, DOCUMENT]}},
                },
            },
        },
    }
}

_MEANINGS = {
    400: "The request cannot be understood.",
    401: "A key is needed, or is not known.",
    404: "There is no such model.",
    408: "The body took too long to arrive.",
    413: "The request or a document is larger than the limits.",
    415: "The body is of no kind that can be taken.",
    422: "A document cannot be read, or a parameter is wrong.",
    500: "Something went wrong inside the service.",
    503: "Too many documents are waiting; Retry-After says when to try again.",
}


def answers(model: type[BaseModel] | None, *errors: int, example: Any = None) -> dict[int | str, dict[str, Any]]:
    """Describe what a route may answer: its good answer, and its errors."""
    good: dict[str, Any] = {} if model is None else {"model": model}
    if example is not None:
        good["content"] = {"application/json": {"example": example}}
    told: dict[int | str, dict[str, Any]] = {200: good}
    for status in errors:
        told[status] = {"model": ErrorReply, "description": _MEANINGS[status]}
    return told
