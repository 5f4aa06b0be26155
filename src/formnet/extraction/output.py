"""What is told of a document: plain data for programs, rows for tables."""

import csv
import json
import unicodedata
from collections.abc import Iterator
from typing import Any, TextIO

from formnet.document import Document, Entity
from formnet.document.values.normalize import normalize
from formnet.document.values.parse import figure

COLUMNS = (
    "document", "page", "label", "text", "value", "ambiguous", "score", "ocr_score", "review", "x0", "y0", "x1", "y1"
)  # fmt: skip


def needs_review(entity: Entity, least: float) -> bool:
    """Tell whether a person should look: the network is less sure than asked for."""
    return (entity.score or 0.0) < least


def answer(document: Document, least: float = 0.0) -> dict[str, Any]:
    """Give a document's entities as plain data; pages count from one, boxes are in the units of their page."""
    return {
        "document": document.id,
        "pages": [
            {"page": number, "width": page.width, "height": page.height, "text_source": page.text_source}
            for number, page in enumerate(document.pages, 1)
        ],
        "entities": [entity_answer(entity, least) for entity in document.entities],
    }


def entity_answer(entity: Entity, least: float = 0.0) -> dict[str, Any]:
    """Give one entity as plain data: the text as printed, what it says beside it."""
    value = normalize(entity.text, entity.label, day_first=entity.day_first)
    return {
        "label": entity.label,
        "text": entity.text,
        "value": None if value is None else value.to_json(),
        "page": entity.page + 1,
        "boxes": [[float(f"{c:.6g}") for c in box] for box in entity.boxes],  # whatever the unit is
        "words": list(entity.words),
        "score": None if entity.score is None else round(entity.score, 4),
        "ocr_score": None if entity.ocr_score is None else round(entity.ocr_score, 4),
        "review": needs_review(entity, least),
    }


def rows(document: Document, least: float = 0.0) -> Iterator[list[Any]]:
    """Give a row for each entity, in `COLUMNS`; its box is around all of its lines."""
    for entity in document.entities:
        told = entity_answer(entity, least)
        x0, y0, x1, y1 = zip(*told["boxes"], strict=True)
        yield [
            document.id,
            told["page"],
            told["label"],
            told["text"],
            written(told["value"]),
            "yes" if is_ambiguous(told["value"]) else "",
            told["score"],
            told["ocr_score"],
            "yes" if told["review"] else "",
            min(x0),
            min(y0),
            max(x1),
            max(y1),
        ]


def written(value: dict[str, Any] | None) -> str:
    """Write what a text says in a line, with its currency if it has one."""
    return "" if value is None else " ".join(str(part) for part in (value["value"], value.get("currency")) if part)


def is_ambiguous(value: dict[str, Any] | None) -> bool:
    """Tell whether a text could say something else, too."""
    return value is not None and value.get("ambiguous", False)


class Writer:
    """Writes answers as json, jsonl or csv, one after the other: a long run can be read while it goes on."""

    def __init__(self, file: TextIO, form: str, least: float = 0.0) -> None:
        self.file, self.form, self.least = file, form, least
        self.count = 0
        if form == "csv":
            csv.writer(file).writerow(COLUMNS)

    def write(self, document: Document) -> None:
        """Write one document."""
        if self.form == "csv":
            csv.writer(self.file).writerows([safe_cell(cell) for cell in row] for row in rows(document, self.least))
        elif self.form == "jsonl":
            self.file.write(json.dumps(answer(document, self.least), ensure_ascii=False) + "\n")
        else:
            text = json.dumps(answer(document, self.least), ensure_ascii=False, indent=2)
            self.file.write(("[\n" if self.count == 0 else ",\n") + text)
        self.count += 1
        self.file.flush()

    def close(self) -> None:
        """End the list."""
        if self.form == "json":
            self.file.write("[]\n" if self.count == 0 else "\n]\n")
            self.file.flush()


def safe_cell(cell: Any) -> Any:
    """Keep a spreadsheet from taking what a document says for a formula."""
    if not isinstance(cell, str):
        return cell
    first = unicodedata.normalize("NFKC", cell.lstrip()[:1])
    formula = first in ("=", "+", "@") or cell[:1] in ("\t", "\r", "\n") or (first == "-" and figure(cell) is None)
    return f"'{cell}" if formula else cell
