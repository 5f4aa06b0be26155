"""The output record: one pydantic model that JSON, CSV columns, Arrow schema and OpenAPI derive from."""

import csv
import json
import re
import unicodedata
from collections.abc import Iterator
from typing import Annotated, Any, TextIO

from pydantic import BaseModel, Field

from formnet.document import Document, Entity
from formnet.document.values.normalize import Value
from formnet.document.values.parse import parse_number

Box = tuple[float, float, float, float]
Share = Annotated[float, Field(ge=0, le=1)]


class EntityOutput(BaseModel):
    """One extracted field."""

    label: str
    text: str = Field(description="The text as printed.")
    value: Value | None = Field(None, description="The normalized value; null for plain text.")
    page: int = Field(description="Page number, starting at 1.")
    score: Share | None = Field(None, description="Calibrated probability that this exact field is correct.")
    ocr_score: Share | None = Field(None, description="The lowest OCR confidence among the field's words.")
    review: bool = Field(False, description="Whether the score is below the requested minimum.")
    boxes: list[Box] = Field(description="One bounding box per line: x0, y0, x1, y1 in the units of the page.")
    words: list[int] = Field(description="Word indices in the document, in reading order.")


class PageOutput(BaseModel):
    """A page's size, in the units of the boxes."""

    page: int
    width: float
    height: float
    text_source: str | None = Field(None, description="OCR engine or text layer that the words come from.")


class DocumentOutput(BaseModel):
    """The fields of one document."""

    document: str
    pages: list[PageOutput]
    entities: list[EntityOutput]


def to_output(document: Document) -> DocumentOutput:
    """Convert a document's pages and entities."""
    return DocumentOutput(
        document=document.id,
        pages=[
            PageOutput(page=number, width=page.width, height=page.height, text_source=page.text_source)
            for number, page in enumerate(document.pages, 1)
        ],
        entities=[entity_output(entity) for entity in document.entities],
    )


def entity_output(entity: Entity) -> EntityOutput:
    """Convert one entity; scores and coordinates are rounded."""
    return EntityOutput(
        label=entity.label,
        text=entity.text,
        value=entity.value,
        page=entity.page + 1,
        score=None if entity.score is None else round(entity.score, 4),
        ocr_score=None if entity.ocr_score is None else round(entity.ocr_score, 4),
        review=entity.review,
        # Six significant digits suit any unit.
        boxes=[tuple(float(f"{coordinate:.6g}") for coordinate in box) for box in entity.boxes],
        words=list(entity.words),
    )


def format_value(value: Value | None) -> str:
    """Format a normalized value on one line, with its currency."""
    return "" if value is None else " ".join(filter(None, (value.value, value.currency)))


#: CSV columns of those fields of `EntityOutput` that are not one column of the same name.
_SPLIT_COLUMNS = {"value": ("value", "ambiguous"), "boxes": ("x0", "y0", "x1", "y1"), "words": ()}
COLUMNS = ("document", *(name for field in EntityOutput.model_fields for name in _SPLIT_COLUMNS.get(field, (field,))))


def to_rows(document: DocumentOutput) -> Iterator[dict[str, Any]]:
    """Yield one row per entity with the keys of `COLUMNS`; the box encloses all lines."""
    for entity in document.entities:
        x0, y0, x1, y1 = zip(*entity.boxes, strict=True)
        box = {"x0": min(x0), "y0": min(y0), "x1": max(x1), "y1": max(y1)}
        cells = {"document": document.document, **entity.model_dump(exclude={"value", "boxes", "words"}), **box}
        cells["value"] = format_value(entity.value)
        cells["ambiguous"] = "yes" if entity.value is not None and entity.value.ambiguous else ""
        cells["review"] = "yes" if entity.review else ""
        yield {column: cells[column] for column in COLUMNS}


class OutputWriter:
    """Write documents as json, jsonl or csv, flushing after each, so that a long run can be followed."""

    def __init__(self, file: TextIO, output_format: str) -> None:
        self.file, self.format, self.count = file, output_format, 0
        if output_format == "csv":
            csv.writer(file).writerow(COLUMNS)

    def write(self, document: Document) -> None:
        """Write one document."""
        output = to_output(document)
        if self.format == "csv":
            csv.writer(self.file).writerows(map(escape_formula, row.values()) for row in to_rows(output))
        elif self.format == "jsonl":
            self.file.write(json.dumps(output.model_dump(mode="json"), ensure_ascii=False) + "\n")
        else:
            text = json.dumps(output.model_dump(mode="json"), ensure_ascii=False, indent=2)
            self.file.write(("[\n" if self.count == 0 else ",\n") + text)
        self.count += 1
        self.file.flush()

    def close(self) -> None:
        """Close the JSON list."""
        if self.format == "json":
            self.file.write("[]\n" if self.count == 0 else "\n]\n")
            self.file.flush()


#: A formula after a character that spreadsheets take for a separator in some locales.
_LATER_FORMULA = re.compile(r"([;\t|])(?=\s*[=+@\-])")


def escape_formula(cell: Any) -> Any:
    """Quote a cell, or the part of a cell after another separator, that a spreadsheet would take for a formula."""
    if not isinstance(cell, str):
        return cell
    cell = _LATER_FORMULA.sub(r"\1'", cell)
    first = unicodedata.normalize("NFKC", cell.lstrip()[:1])
    is_formula = first in ("=", "+", "@") or cell[:1] in ("\t", "\r", "\n")
    is_formula = is_formula or (first == "-" and parse_number(cell) is None)
    return f"'{cell}" if is_formula else cell
