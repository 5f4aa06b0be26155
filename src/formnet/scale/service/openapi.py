"""OpenAPI descriptions that FastAPI cannot derive: the body that `/v1/extract` parses itself, and the errors."""

from typing import Annotated, Any

from fastapi import FastAPI
from pydantic import Field, TypeAdapter

from formnet.scale.service.schemas import DocumentInput, DocumentsInput, ErrorResponse

#: A valid request body.
EXAMPLE_DOCUMENT: dict[str, Any] = {
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

_JSON_BODY: TypeAdapter[Any] = TypeAdapter(
    DocumentInput | Annotated[list[DocumentInput], Field(min_length=1)] | DocumentsInput
)
_JSON_SCHEMA = _JSON_BODY.json_schema(ref_template="#/components/schemas/{model}")
_BODY_MODELS = _JSON_SCHEMA.pop("$defs")
_MULTIPART_SCHEMA = {
    "type": "object",
    "required": ["files"],
    "properties": {
        "files": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "format": "binary"},
            "description": "PDF files, images, or the output of OCR engines and services; one document per file.",
        }
    },
}
#: The request body of `/v1/extract`.
EXTRACT_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {"schema": _MULTIPART_SCHEMA},
            "application/json": {
                "schema": _JSON_SCHEMA,
                "examples": {
                    "one": {"summary": "One document", "value": EXAMPLE_DOCUMENT},
                    "several": {"summary": "Several documents", "value": {"documents": [EXAMPLE_DOCUMENT] * 2}},
                },
            },
        },
    }
}

_ERROR_DESCRIPTIONS = {
    400: "Invalid request.",
    401: "Missing or invalid API key.",
    404: "Unknown model.",
    408: "The body was not received in time.",
    413: "The request or a document exceeds a limit.",
    415: "Unsupported content type or encoding.",
    422: "Unreadable document or invalid parameter.",
    500: "Internal error.",
    503: "The service is overloaded; Retry-After gives the delay before a retry.",
}


class ServiceApi(FastAPI):
    """FastAPI application that adds the models of request bodies to its OpenAPI document."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        document = super().openapi()
        document["components"]["schemas"] |= _BODY_MODELS
        return document


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the error responses of a route."""
    return {status: {"model": ErrorResponse, "description": _ERROR_DESCRIPTIONS[status]} for status in statuses}
