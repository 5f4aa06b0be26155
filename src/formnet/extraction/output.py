"""The output record: one pydantic model that JSON, tables, Arrow schema and OpenAPI derive from."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from formnet.document import Document, Entity
from formnet.document.boxes import Box
from formnet.document.values.conventions import find_currency, infer_day_first
from formnet.document.values.normalize import Value
from formnet.extraction.fields import CheckOutput, Fields, complete_links, parse_fields, to_fields
from formnet.extraction.schema import Schema

Share = Annotated[float, Field(ge=0, le=1)]


class EntityOutput(BaseModel):
    """One extracted field."""

    label: str
    text: str = Field(description="The value as printed.")
    key_text: str = Field("", description="The printed caption, if there is one.")
    value: Value | None = Field(None, description="The normalized value; null for plain text.")
    page: int = Field(description="Page number, starting at 1.")
    score: Share | None = Field(None, description="Calibrated probability that this exact field is correct.")
    ocr_score: Share | None = Field(None, description="The lowest OCR confidence among the field's words.")
    review: bool = Field(False, description="Whether the score is below the requested minimum.")
    boxes: list[Box] = Field(description="One bounding box per line: x0, y0, x1, y1 in the units of the page.")
    words: list[int] = Field(description="Word indices in the document, in reading order.")
    owner: int | None = Field(
        None, description="Number of the entity that this one belongs to, such as an item's name."
    )
    link_score: Share | None = Field(None, description="Calibrated probability of that.")


class PageOutput(BaseModel):
    """A page's size, in the units of the boxes."""

    page: int
    width: float
    height: float
    text_source: str | None = Field(None, description="OCR engine or text layer that the words come from.")
    rotation: int = Field(0, description="Degrees that the page was turned clockwise to read it upright.")


class DocumentOutput(BaseModel):
    """The fields of one document."""

    document: str
    currency: str | None = Field(None, description="The currency printed most often, as an ISO 4217 code.")
    date_order: Literal["day_first", "month_first"] | None = Field(
        None, description="Order of day and month, inferred from other dates, addresses, phone numbers or the currency."
    )
    type: str | None = Field(None, description="The recognized type of the document, named after the model for it.")
    type_score: Share | None = Field(None, description="Probability of that type.")
    fields: Fields = Field(description="The fields by name, as the schema of the model arranges them.")
    checks: list[CheckOutput] = Field(description="Arithmetic that the schema of the model declares.")
    pages: list[PageOutput]
    entities: list[EntityOutput]


def to_output(document: Document, schema: Schema) -> DocumentOutput:
    """Convert a document with its annotations; boxes are in the coordinates of the original images."""
    rotations = [page.rotation for page in document.pages]
    own_schema = schema.for_type(document.type)
    links = complete_links(document, own_schema)
    document = document.turn_back()
    fields, checks = to_fields(document, own_schema, links)
    day_first = infer_day_first(document.texts)
    return DocumentOutput(
        document=document.id,
        currency=find_currency(document.texts),
        date_order=None if day_first is None else "day_first" if day_first else "month_first",
        type=None if document.type is None else document.type.name,
        type_score=None if document.type is None else round(document.type.score, 4),
        fields=fields,
        checks=checks,
        pages=[
            PageOutput(
                page=number, width=page.width, height=page.height, text_source=page.text_source, rotation=rotation
            )
            for number, (page, rotation) in enumerate(zip(document.pages, rotations, strict=True), 1)
        ],
        entities=to_entities(document),
    )


def parse_output(data: Mapping[str, Any]) -> DocumentOutput:
    """Parse the JSON of a document's output."""
    return DocumentOutput.model_validate({**data, "fields": parse_fields(data["fields"])})


def to_entities(document: Document) -> list[EntityOutput]:
    """Convert a document's entities with their links."""
    owners = {part: owner for owner, part in reversed(document.links)}
    return [entity_output(entity, owners.get(number)) for number, entity in enumerate(document.entities)]


def entity_output(entity: Entity, owner: int | None = None) -> EntityOutput:
    """Convert one entity; scores and coordinates are rounded."""
    return EntityOutput(
        label=entity.label,
        text=entity.text,
        key_text=entity.key_text,
        value=entity.value,
        page=entity.page + 1,
        score=None if entity.score is None else round(entity.score, 4),
        ocr_score=None if entity.ocr_score is None else round(entity.ocr_score, 4),
        review=entity.review,
        # Six significant digits suit any unit.
        boxes=[tuple(float(f"{coordinate:.6g}") for coordinate in box) for box in entity.boxes],
        words=list(entity.words),
        owner=owner,
        link_score=None if entity.link_score is None else round(entity.link_score, 4),
    )
