"""Synthetic invoices rendered from human-designed HTML layouts, split by layout family.

Layout: `{train,validation,test}.jsonl.gz` in FormNet JSONL. Labels are the paths of the canonical schema, such as
`vendor.name`; entities of a line item have its number as `row`, which becomes links from its description to the rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from formnet.datasets.jsonl import Jsonl
from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.readers.jsonl import Line, from_json, parse_json

LABELS: tuple[str, ...] = (
    *(f"vendor.{name}" for name in ("name", "address", "phone", "email", "tax_id")),
    *(f"{party}.{name}" for party in ("customer", "ship_to") for name in ("name", "address")),
    *("invoice_number", "purchase_order", "customer_number", "invoice_date", "due_date", "payment_terms"),
    *(
        f"line_items.{name}"
        for name in ("description", "product_code", "quantity", "unit", "unit_price", "tax_rate", "discount", "total")
    ),
    *("subtotal", "discount", "tax", "tax_rate", "shipping", "total", "amount_due", "amount_paid", "currency"),
    *("iban", "bic", "bank_name"),
)


class Invoices(Jsonl):
    """The synthetic invoices."""

    entity_types = LABELS

    def parse(self, source: Line) -> Document:
        """Parse one invoice."""
        data = parse_json(source)
        try:
            links = list(row_links(data["entities"]))
        except (LookupError, TypeError) as error:
            raise DocumentError(f"{source}: an entity needs a 'label' and a 'row'.") from error
        return from_json({**data, "links": links}, base=source.file.parent)

    def expected(self) -> str:
        """Return the error message for a path without invoices."""
        return "no invoices found. Expected a folder with train.jsonl.gz, validation.jsonl.gz or test.jsonl.gz."


def row_links(entities: Sequence[Mapping[str, Any]]) -> Iterator[list[int]]:
    """Yield links from the description of each row, or from its first entity, to the other entities of the row."""
    rows: dict[int, list[int]] = {}
    for number, entity in enumerate(entities):
        if entity["row"] is not None:
            rows.setdefault(entity["row"], []).append(number)
    for numbers in rows.values():
        owner = next((n for n in numbers if entities[n]["label"] == "line_items.description"), numbers[0])
        yield from ([owner, number] for number in numbers if number != owner)


CORPUS = Invoices
