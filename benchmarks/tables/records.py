"""Tables of structured output against known values."""

from typing import Any

from benchmarks.tables.markdown import table


def records(record: dict[str, Any]) -> str:
    """Tabulate header fields by path, values of items by name, and complete items if the documents link them."""
    rows = [("field", "labeled", "found", "correct", "precision", "recall", "F1")]
    parts = {
        **record["per_type"],
        "all header fields": record,
        **{f"items: {name}": part for name, part in record["item_values"].items() if part},
    }
    if record["has_links"]:
        parts["complete items"] = record["items"]
    for name, part in parts.items():
        counts = (f"{part[key]:,}" for key in ("gold", "found", "right"))
        rows.append((name, *counts, *(f"{100 * part[key]:.1f}" for key in ("precision", "recall", "f1"))))
    return table(rows) + f"\n{record['documents']:,} documents.\n"
