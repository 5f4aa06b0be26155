"""The structured output of a document: its fields as a tree, and the checks of its schema."""

import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, Field

from formnet.document import Document, Entity
from formnet.document.boxes import Box
from formnet.document.values.normalize import Value
from formnet.document.values.parse import fold
from formnet.extraction.checks import Status, run_checks
from formnet.extraction.references import ReferenceMatch
from formnet.extraction.rows import links_in_rows
from formnet.extraction.schema import Schema, ValueType
from formnet.extraction.structure import Node, build_tree

_CENTS = re.compile(r"[.,]\d\d\s*$")


class FieldOutput(BaseModel):
    """A field: its value, and where it is printed."""

    value: int | float | str | None = Field(
        description="A number for amounts and quantities, ISO 8601 for dates and times; null if it cannot be read."
    )
    text: str = Field(description="The value as printed.")
    key_text: str = Field("", description="The printed caption, if there is one.")
    score: float | None = Field(None, description="Calibrated probability that this field is correct.")
    ocr_score: float | None = Field(None, description="The lowest OCR confidence among its words.")
    page: int = Field(description="Page number, starting at 1.")
    boxes: list[Box] = Field(description="One bounding box per line: x0, y0, x1, y1 in the units of the page.")
    words: list[int] = Field(description="Word indices in the document, in reading order.")
    review: bool = Field(False, description="Whether a person should check the value.")
    reference: ReferenceMatch | None = Field(
        None, description="The matching entry of a reference list, if one is used."
    )

    def format(self, currency: str | None = None) -> str:
        """Format the value for people, with cents if they are printed; empty if it could not be read.

        >>> FieldOutput(value=1234.5, text="1.234,50", page=1, boxes=[], words=[]).format("EUR")
        '1,234.50 EUR'
        """
        if not isinstance(self.value, float):
            return "" if self.value is None else str(self.value)
        number = f"{self.value:,.2f}" if _CENTS.search(self.text) else f"{self.value:,.10g}"
        return f"{number} {currency}" if currency else number


class CheckOutput(BaseModel):
    """The result of a check."""

    name: str
    status: Status
    element: int | None = Field(None, description="Number of the list element, starting at 0, if it is checked alone.")
    fields: list[str] = Field([], description="Paths of the fields that were compared.")
    left: float | None = None
    right: float | None = None

    def describe(self) -> str:
        """Return the result as a sentence.

        >>> CheckOutput(name="item_total", status="failed", element=1, left=3.0, right=3.5).describe()
        'item total 2 failed: 3.00 is not 3.50'
        """
        name = self.name.replace("_", " ") + ("" if self.element is None else f" {self.element + 1}")
        reason = f": {self.left:,.2f} is not {self.right:,.2f}" if self.status == "failed" else ""
        return f"{name} {self.status.replace('_', ' ')}{reason}"


#: Fields by name: a field, a list of fields or of groups, or a group.
Fields = dict[str, Any]


def complete_links(document: Document, schema: Schema) -> list[tuple[int, int]]:
    """Return the links of a document with upright pages, and those between parts of items that only share a row."""
    return [*document.links, *links_in_rows(document, schema)]


def to_fields(
    document: Document, schema: Schema, links: Sequence[tuple[int, int]] | None = None
) -> tuple[Fields, list[CheckOutput]]:
    """Arrange a document's entities as fields, and check them; a failed check marks its fields for review.

    Links are by default those of `complete_links`.
    """
    root = build_tree(document.entities, complete_links(document, schema) if links is None else links, schema)
    results = run_checks(root, schema)
    failed = {
        (entity.label, entity.words) for result in results if result.status == "failed" for entity in result.entities
    }
    checks = [
        CheckOutput(
            name=result.name,
            status=result.status,
            element=result.element,
            fields=list(dict.fromkeys(schema.by_label[entity.label].path for entity in result.entities)),
            left=None if result.left is None else float(result.left),
            right=None if result.right is None else float(result.right),
        )
        for result in results
    ]
    return _to_tree(root, schema, failed), checks


def parse_fields(fields: Any) -> Any:
    """Parse the JSON of fields: those in groups and lists become `FieldOutput`."""
    if isinstance(fields, list):
        return [parse_fields(item) for item in fields]
    if not isinstance(fields, dict):
        return fields
    if fields.keys() >= {"value", "text", "words"}:
        return FieldOutput.model_validate(fields)
    return {name: parse_fields(item) for name, item in fields.items()}


def plain_values(fields: Any) -> Any:
    """Reduce fields to their values."""
    if isinstance(fields, FieldOutput):
        return fields.value
    if isinstance(fields, list):
        return [plain_values(item) for item in fields]
    if isinstance(fields, dict):
        return {name: plain_values(item) for name, item in fields.items()}
    return fields


def _to_tree(node: Node, schema: Schema, failed: Collection[tuple[str, tuple[int, ...]]], prefix: str = "") -> Fields:
    """Convert a node at the path `prefix`, with its names in the order of the schema."""
    tree: Fields = dict(node.constants)
    for name, entities in node.values.items():
        if schema.by_label[entities[0].label].segments[-1].is_list:
            tree[name] = [_field([entity], schema, failed) for entity in entities]
        else:
            tree[name] = _field(entities, schema, failed)
    for name, elements in node.lists.items():
        tree[name] = [_to_tree(element, schema, failed, f"{prefix}{name}.") for element in elements]
    for name, part in node.parts.items():
        tree[name] = _to_tree(part, schema, failed, f"{prefix}{name}.")
    order = schema.path_order
    return {name: tree[name] for name in sorted(tree, key=lambda name: order.get(f"{prefix}{name}", -1))}


def _field(entities: Sequence[Entity], schema: Schema, failed: Collection[tuple[str, tuple[int, ...]]]) -> FieldOutput:
    """Convert the entities of one field: of several values, the surest is taken.

    The parts of a text are joined if they follow each other, or are linked to the same item.
    """
    field = schema.by_label[entities[0].label]
    kind = field.type
    is_doubtful = False
    if kind != "text":
        is_doubtful = len({entity.value.value for entity in entities if entity.value is not None}) > 1
        entities = [max(entities, key=lambda entity: (entity.value is not None, entity.score or 0.0))]
    elif not field.lists:
        texts = _adjoining(entities)
        is_doubtful = len({fold(" ".join(entity.text for entity in part)) for part in texts}) > 1
        entities = max(texts, key=lambda part: min(entity.score or 0.0 for entity in part))
    text = " ".join(entity.text for entity in entities)
    reference = schema.references.get(field.plain_path)
    value = text if kind == "text" else _typed_value(entities[0].value, kind)
    if entities[0].value is not None and kind in ("date", "quantity"):
        is_doubtful = is_doubtful or entities[0].value.ambiguous
    needs_review = any(entity.review or (entity.label, entity.words) in failed for entity in entities)
    return FieldOutput(
        value=value,
        text=text,
        key_text=" ".join(entity.key_text for entity in entities if entity.key_text),
        score=_lowest(entity.score for entity in entities),
        ocr_score=_lowest(entity.ocr_score for entity in entities),
        page=entities[0].page + 1,
        boxes=[box for entity in entities for box in entity.boxes],
        words=[word for entity in entities for word in entity.words],
        review=value is None or is_doubtful or needs_review,
        reference=None if reference is None else reference.match(text),
    )


def _adjoining(entities: Sequence[Entity]) -> list[list[Entity]]:
    """Group entities that follow each other without a word between them."""
    groups: list[list[Entity]] = []
    for entity in sorted(entities, key=lambda entity: entity.words):
        last = groups[-1][-1] if groups else None
        if last is not None and last.page == entity.page and last.words[-1] + 1 == entity.words[0]:
            groups[-1].append(entity)
        else:
            groups.append([entity])
    return groups


def _typed_value(value: Value | None, kind: ValueType) -> int | float | str | None:
    """Convert a normalized value to a number, where it is one; None if the value is of another kind."""
    if value is None or (kind != "code" and value.kind != kind):
        return None
    if kind not in ("amount", "quantity"):
        return value.value
    number = Decimal(value.value)
    return int(number) if kind == "quantity" and number == int(number) else float(number)


def _lowest(scores: Iterable[float | None]) -> float | None:
    known = [round(score, 4) for score in scores if score is not None]
    return min(known) if known else None
