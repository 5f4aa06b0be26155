"""Structured output of real invoices that no model was trained on, against values keyed in by people."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.records import predict_records, score, select_fields
from formnet.evaluation.records import Record, match_values
from formnet.extraction.extractor import Extractor
from formnet.io.ocr import OcrEngine
from formnet.io.readers import read_one

#: Values of invoice2data's tests by path; of several names, the first that a file has counts.
INVOICE2DATA = {
    "vendor.name": ("partner_name", "issuer"),
    "invoice_number": ("invoice_number",),
    "invoice_date": ("date",),
    "due_date": ("date_due",),
    "subtotal": ("amount_untaxed",),
    "tax": ("amount_tax",),
    "total": ("amount",),
    "iban": ("iban",),
    "bic": ("bic",),
}


class KeyedFile(NamedTuple):
    """A file with its keyed-in values."""

    path: Path
    record: Record
    is_complete: bool = True  # whether all printed values were keyed in; otherwise, others that are found do not count


def benchmark(model: str, files: Mapping[str, Sequence[KeyedFile]], engine: OcrEngine) -> dict[str, Any]:
    """Score header fields and items of each collection and of all, and list the values that came out wrong."""
    extractor = Extractor.from_pretrained(model)
    result: dict[str, Any] = {"model": model, "engine": engine.name, "collections": {}}
    everything: tuple[list[Record], list[Record]] = ([], [])
    for name, keyed in files.items():
        paths = sorted({path for file in keyed for path in file.record.fields})
        items = sorted({item for file in keyed for row in file.record.items for item in row})
        documents = [read_one(file.path, ocr=engine) for file in keyed]
        predicted = predict_records(extractor, documents, paths, items)
        predicted = [
            record
            if file.is_complete
            else replace(select_fields(record, {path: path for path in file.record.fields}), items=())
            for file, record in zip(keyed, predicted, strict=True)
        ]
        gold = [file.record for file in keyed]
        wrong = {
            file.path.name: _differences(file.record, record) for file, record in zip(keyed, predicted, strict=True)
        }
        result["collections"][name] = {**score(gold, predicted, items), "wrong": wrong}
        everything[0].extend(gold)
        everything[1].extend(predicted)
    return {**result, **score(*everything)}


def _differences(gold: Record, predicted: Record) -> dict[str, Any]:
    """Return the header fields that are wrong, missing or spurious, with both values, and the items if they differ."""
    wrong: dict[str, Any] = {}
    for path in sorted({*gold.fields, *predicted.fields}):
        right, found = gold.fields.get(path), predicted.fields.get(path)
        if right is None or found is None or not match_values(right, found):
            wrong[path] = {"keyed_in": right, "found": found}
    if gold.items and list(gold.items) != list(predicted.items):
        wrong["line_items"] = list(predicted.items)
    return wrong


def read_samples(folder: Path, values: Path) -> list[KeyedFile]:
    """Return the files of a folder that a JSON file has values for."""
    records = json.loads(values.read_text(encoding="utf-8"))
    return [KeyedFile(folder / name, Record(part["fields"], part["items"])) for name, part in records.items()]


def read_invoice2data(folder: Path) -> list[KeyedFile]:
    """Return the PDF files of invoice2data's tests, each with the values of the JSON file of the same name."""
    files = []
    for path in sorted(folder.glob("*.json")):
        (values,) = json.loads(path.read_text(encoding="utf-8"))
        found = {
            field: next((values[name] for name in names if name in values), None)
            for field, names in INVOICE2DATA.items()
        }
        fields = {field: f"{v:.2f}" if isinstance(v, float) else str(v) for field, v in found.items() if v is not None}
        files.append(KeyedFile(path.with_suffix(".pdf"), Record(fields), is_complete=False))
    return files
