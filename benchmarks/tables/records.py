"""Tables of structured output against known values."""

from pathlib import Path
from typing import Any

from benchmarks.tables.markdown import table

#: Fields of the table of documents from elsewhere.
_ELSEWHERE = {
    "receipts": ("total", "tax", "date", "merchant", "merchant.name"),
    "invoices": ("total", "invoice_number", "invoice_date", "vendor.name"),
}


def records(record: dict[str, Any]) -> str:
    """Tabulate header fields by path, values of items by name, and complete items if the documents link them."""
    before = record.get("before", {})
    earlier = {
        **before.get("per_type", {}),
        "all header fields": before.get("f1"),
        "number, date, total, vendor": before.get("key_fields"),
        **{f"items: {name}": f1 for name, f1 in before.get("item_values", {}).items()},
        "complete items": before.get("items"),
    }
    rows: list[tuple[str, ...]] = [
        ("field", "labeled", "found", "correct", "precision", "recall", "F1", *(["F1 before"] if before else []))
    ]
    parts = {
        **record["per_type"],
        "all header fields": record,
        **({"number, date, total, vendor": record["key_fields"]} if "key_fields" in record else {}),
        **{f"items: {name}": part for name, part in record["item_values"].items() if part},
    }
    if record["has_links"]:
        parts["complete items"] = record["items"]
    for name, part in parts.items():
        counts = (f"{part[key]:,}" if key in part else "" for key in ("gold", "found", "right"))
        shares = [f"{100 * part[key]:.1f}" for key in ("precision", "recall", "f1")]
        if before:
            shares.append("" if earlier.get(name) is None else f"{100 * earlier[name]:.1f}")
        rows.append((name, *counts, *shares))
    sentences = [f"{record['documents']:,} documents.", *calibration_error(record)]
    if oracle := record.get("oracle"):
        fields, items = (f"{100 * part['f1']:.1f}" for part in (oracle, oracle["items"]))
        sentences.append(f"Finding all that is printed would reach {fields} (header fields) and {items} (items).")
    text = f"{table(rows)}\n{' '.join(sentences)}\n"
    if "raster" in record:
        orders = {"of the corpus": record, "line by line": record["raster"]}
        text += f"\n{_groups('reading order', orders)}"
    return text + (f"\n{_groups('language', record['by_language'])}" if "by_language" in record else "")


def calibration_error(record: dict[str, Any]) -> list[str]:
    """Return a sentence on the calibration of header fields, or none if it was not measured."""
    if "calibration_error" not in record:
        return []
    return [f"Expected calibration error of header fields {record['calibration_error']:.3f}."]


def compared_models(record: dict[str, Any]) -> str:
    """Tabulate F1 of header fields, with a column for each model; their folders name them."""
    models = list(dict.fromkeys(row["model"] for row in record["rows"]))
    scores = {(row["corpus"], row["model"]): row for row in record["rows"]}
    rows: list[tuple[str, ...]] = [("documents", "field", "labeled", *map(_variant, models))]
    for corpus in dict.fromkeys(row["corpus"] for row in record["rows"]):
        parts = [scores[corpus, model] for model in models]
        counts = f"{corpus.partition(':')[0]}, {parts[0]['documents']:,}"
        for label, labeled in parts[0]["per_type"].items():
            f1s = (f"{100 * part['per_type'][label]['f1']:.1f}" for part in parts)
            rows.append((counts, label, f"{labeled['gold']:,}", *f1s))
        rows.append((counts, "**all**", "", *(f"**{100 * part['f1']:.1f}**" for part in parts)))
    return table(rows)


def _variant(model: str) -> str:
    """Return the name of a variant from the folder of its model.

    >>> _variant("runs/synthetic-receipts/real-receipts/seed-0")
    'real receipts'
    """
    return Path(model).parent.name.replace("-", " ")


def real_invoices(record: dict[str, Any]) -> str:
    """Tabulate collections of invoices, and list what is wrong in the header of each invoice."""
    lines = [_groups("collection", {**record["collections"], "all": record})]
    lines += [f"{sentence}\n\n" for sentence in calibration_error(record)]
    for part in record["collections"].values():
        for file, wrong in part["wrong"].items():
            differences = [
                f"{path}: {_quote(values['found'])} instead of {_quote(values['keyed_in'])}"
                for path, values in wrong.items()
                if path != "line_items"
            ]
            lines.append(f"- `{file}`: {'; '.join(differences) or 'all header fields are correct'}\n")
    return lines[0] + "\n" + "".join(lines[1:])


def invoices_overview(records: dict[str, dict[str, Any]]) -> str:
    """Tabulate the collections of invoices that no training document is from."""
    real = records["invoices-real"]["collections"]
    return _groups(
        "collection",
        {
            "synthetic invoices in other layouts": records["invoices"],
            "other e-invoices": records["einvoices"],
            "sample invoices, as images and PDFs": real["samples"],
            "PDFs of invoice2data": real["invoice2data"],
        },
    )


def elsewhere(records: dict[str, dict[str, Any]]) -> str:
    """Tabulate the shipped models on documents from sources that they were not trained on."""
    photos, lines, real = records["receipts-us"], records["wildreceipt"], records["invoices-real"]
    earlier = real.get("before", {}).get("collections", {})
    samples, pdfs = ({**real["collections"][name], "before": earlier.get(name)} for name in ("samples", "invoice2data"))
    rows: list[tuple[str, ...]] = [("model", "documents", "words", "F1 by field", "F1 of all header fields", "before")]
    for model, name, part, words in (
        ("receipts", "photos of US receipts", photos, photos["engine"]),
        ("receipts", "receipts of WildReceipt", lines, "lines of the corpus"),
        ("invoices", "other e-invoices", records["einvoices"], "text of the PDF"),
        ("invoices", "sample invoices", samples, "text of the PDF, or OCR"),
        ("invoices", "PDFs of invoice2data", pdfs, "text of the PDF, or OCR"),
    ):
        f1s = {field: part["per_type"][field]["f1"] for field in _ELSEWHERE[model] if field in part["per_type"]}
        if part.get("items") and part.get("has_links", True):
            f1s["complete items"] = part["items"]["f1"]
        scores = ", ".join(f"{field} {100 * f1:.1f}" for field, f1 in f1s.items())
        before = part.get("before")
        overall = (f"{100 * part['f1']:.1f}", f"{100 * before['f1']:.1f}" if before else "")
        rows.append((f"`{model}`", f"{part['documents']:,} {name}", words, scores, *overall))
    return table(rows)


def _quote(value: str | None) -> str:
    return "nothing" if value is None else f"“{' '.join(value.split())}”"


def _groups(name: str, groups: dict[str, Any]) -> str:
    rows: list[tuple[str, ...]] = [
        (name, "documents", "F1 of header fields", "F1 of number, date, total, vendor", "F1 of complete items")
    ]
    for group, part in groups.items():
        scores = (part, part.get("key_fields"), part.get("items"))
        cells = ("" if score is None else f"{100 * score['f1']:.1f}" for score in scores)
        rows.append((group, f"{part['documents']:,}", *cells))
    return table(rows)


def document_types(record: dict[str, Any]) -> str:
    """Tabulate how many documents of each corpus were recognized as which type."""
    types = list(dict.fromkeys(row["type"] for row in record["corpora"]))
    rows: list[tuple[str, ...]] = [("corpus", "documents", *(f"recognized as {name}" for name in types))]
    for row in record["corpora"]:
        counts = (f"{row['recognized'].get(name, 0):,}" for name in types)
        kind, _, path = row["corpus"].partition(":")
        rows.append((f"`{Path(path).stem if kind == 'jsonl' else kind}`", f"{row['documents']:,}", *counts))
    right = record["right"]
    total = f"{right['right']:,} of {right['of']:,} ({right['share']:.1%}) recognized as what they are."
    return f"{table(rows)}\n{total}\n"
