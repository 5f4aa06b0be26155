"""Requests and responses of the service, as the client sends and receives them and OpenAPI describes them."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.extraction.output import DocumentOutput, PageOutput, Share, to_output
from formnet.extraction.schema import Schema


class PageInput(BaseModel):
    """The words of a page."""

    width: float | None = Field(None, description="Width in the units of the boxes; by default, up to the last word.")
    height: float | None = None
    words: list[str] = Field(description="Words in reading order.")
    boxes: list[Box] = Field(description="x0, y0, x1, y1 of each word; the origin is at the top left.")
    confidences: list[Share] | None = Field(None, description="OCR confidence of each word.")


class DocumentInput(BaseModel):
    """A document as words with bounding boxes."""

    id: str = Field(min_length=1)
    pages: list[PageInput]


class DocumentsInput(BaseModel):
    """Several documents."""

    documents: list[DocumentInput] = Field(min_length=1)


class ServicePage(PageOutput):
    """A page's size, in the units of the boxes, and its image."""

    image: str | None = Field(None, description="JPEG data URL; absent unless the request has images=true.")


class ServiceDocument(DocumentOutput):
    """The fields of one document."""

    pages: list[ServicePage]  # type: ignore[assignment] # a list of a subclass


class ExtractResponse(BaseModel):
    """The documents of a request, in the order they were sent."""

    request_id: str
    model: str
    documents: list[ServiceDocument]


class ModelInfo(BaseModel):
    """A model and its labels."""

    name: str
    labels: list[str]


class LimitsInfo(BaseModel):
    """Limits on a request and on each of its documents."""

    bytes: int
    documents: int
    pages: int
    words: int
    tokens: int
    pixels: int
    seconds: float


class ModelsResponse(BaseModel):
    """The models, the default first, and the limits."""

    models: list[ModelInfo]
    limits: LimitsInfo


class ErrorDetail(BaseModel):
    """An error: a code for programs and a message for people."""

    code: str
    message: str
    request_id: str


class ErrorResponse(BaseModel):
    """The body of every error response."""

    error: ErrorDetail


def to_service_document(document: Document, schema: Schema, images: Sequence[str | None] = ()) -> ServiceDocument:
    """Convert a document; `images` holds one data URL per page, or is empty if no images were requested."""
    output = to_output(document, schema)
    pages = [ServicePage(**page.model_dump()) for page in output.pages]
    for page, image in zip(pages, images, strict=False):
        page.image = image
    return ServiceDocument(**dict(output) | {"pages": pages})
