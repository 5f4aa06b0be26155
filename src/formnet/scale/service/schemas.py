"""Responses of the service, as the client receives them and OpenAPI describes them."""

from typing import Any

from pydantic import BaseModel

Box = tuple[float, float, float, float]


class FieldAnswer(BaseModel):
    """One field: the text as printed, what it says, where it stands, how sure the network is."""

    label: str
    text: str
    value: dict[str, Any] | None
    page: int
    boxes: list[Box]
    words: list[int]
    score: float | None
    ocr_score: float | None
    review: bool


class PageAnswer(BaseModel):
    """A page's size, in the units of the boxes; its picture, if one was asked for."""

    page: int
    width: float
    height: float
    text_source: str | None
    picture: str | None = None


class Answer(BaseModel):
    """What was found in one document."""

    document: str
    pages: list[PageAnswer]
    entities: list[FieldAnswer]


class Reply(BaseModel):
    """The answers to one request, in the order of its documents."""

    request_id: str
    model: str
    documents: list[Answer]


class ModelAnswer(BaseModel):
    """A model's name and the labels it knows."""

    name: str
    labels: list[str]


class LimitsAnswer(BaseModel):
    """What a request may be at most."""

    bytes: int
    documents: int
    pages: int
    words: int
    pixels: int
    seconds: float


class ModelsReply(BaseModel):
    """The models that can be asked, the first one without being named."""

    models: list[ModelAnswer]
    limits: LimitsAnswer


class Problem(BaseModel):
    """Why there is no answer."""

    code: str
    message: str
    request_id: str


class ErrorReply(BaseModel):
    """What every error looks like."""

    error: Problem
