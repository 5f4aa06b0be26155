"""WildReceipt (Sun et al., 2021): receipt photos in 25 classes, where each text line is an entity.

Layout: `{train,test}.jsonl.gz` in FormNet JSONL, one word per line, without blanks. Labels are those of `receipts`
where it has one; captions and other lines are not labeled. For evaluation only: no license is stated.
"""

from typing import Any

from formnet.datasets.jsonl import Jsonl
from formnet.document import Document
from formnet.io.readers.jsonl import Line, from_json, parse_json

#: Path in the canonical schema of each class with values.
LABELS = {
    "Store_name_value": "merchant.name",
    "Store_addr_value": "merchant.address",
    "Tel_value": "merchant.phone",
    "Date_value": "date",
    "Time_value": "time",
    "Prod_item_value": "line_items.description",
    "Prod_quantity_value": "line_items.quantity",
    "Prod_price_value": "line_items.total",
    "Subtotal_value": "subtotal",
    "Tax_value": "tax",
    "Tips_value": "tip",
    "Total_value": "total",
}


class WildReceipt(Jsonl):
    """The WildReceipt corpus."""

    entity_types = tuple(LABELS.values())

    def parse(self, source: Line) -> Document:
        """Parse one receipt."""
        data: Any = parse_json(source)
        values = [{**e, "label": LABELS[e["label"]]} for e in data["entities"] if e["label"] in LABELS]
        return from_json({**data, "entities": values}, base=source.file.parent)

    def expected(self) -> str:
        """Return the error message for a path without receipts."""
        return "no WildReceipt files found. Expected a folder with train.jsonl.gz or test.jsonl.gz."


CORPUS = WildReceipt
