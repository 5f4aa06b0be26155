"""Structured output of a model on corpora with known values: header fields and complete items."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from formnet.datasets import open_corpus
from formnet.datasets.einvoices import EInvoices
from formnet.document import Document
from formnet.document.reading_order import reorder
from formnet.evaluation.records import Record, labeled_record, output_record, score_records
from formnet.extraction.extractor import Extractor
from formnet.extraction.fields import to_fields
from formnet.extraction.schema import FieldSchema, Schema
from formnet.training.data import scheme_for

#: Fields that a bookkeeper needs from every invoice.
KEY_FIELDS = ("invoice_number", "invoice_date", "total", "vendor.name")

#: Canonical labels whose values are lists in the output, which are not scored.
LISTS = ("other_charges", "other_subtotals", "other_totals", "other", "tax_flag")


def benchmark(model: str, spec: str, schema: Schema | None = None) -> dict[str, Any]:
    """Score header fields, the key fields of invoices among them, and items.

    Words are read in the order of the corpus and in raster order; e-invoices are also scored by language. Their values
    are those of their XML; `oracle` scores the printed ones, as an upper bound. Without links, items cannot be put
    together; their values are scored one by one. A schema replaces that of the model.
    """
    extractor = Extractor.from_pretrained(model, **({} if schema is None else {"schema": schema}))
    corpus = open_corpus(spec, canonical=True)
    documents = list(corpus)
    labels = scheme_for(corpus, documents).entity_types
    header, items = find_paths(labels)
    groups = [""] * len(documents)
    arranged = canonical_schema(labels)
    gold = printed = [labeled_record(document, arranged, header, items) for document in documents]
    if isinstance(corpus, EInvoices):
        parts = [record for split in corpus.splits for record in corpus.records(split)]
        gold = [Record(part.fields, part.items) for part in parts]
        groups = [part.language for part in parts]
    predicted = predict_records(extractor, documents, header, items)
    in_lines = predict_records(extractor, [reorder(document, "raster") for document in documents], header, items)
    has_links = any(document.links for document in documents)
    if not has_links:
        gold, predicted, in_lines = ([split_items(record) for record in part] for part in (gold, predicted, in_lines))
    result = {"model": model, "corpus": spec, "has_links": has_links, **score(gold, predicted, items)}
    result["raster"] = score(gold, in_lines)
    if isinstance(corpus, EInvoices):
        result["oracle"] = score(gold, printed)
    if len({*groups}) > 1:
        result["by_language"] = {
            name: score(_take(gold, groups, name), _take(predicted, groups, name), items) for name in sorted({*groups})
        }
    return result


def compare_models(models: Sequence[str], specs: Sequence[str], schema: Schema) -> dict[str, Any]:
    """Score the header fields of several models, which share a schema, on the same corpora."""
    return {"rows": [_header_scores(benchmark(model, spec, schema)) for spec in specs for model in models]}


def _header_scores(record: dict[str, Any]) -> dict[str, Any]:
    return {key: record[key] for key in ("model", "corpus", "documents", "f1", "interval", "per_type")}


def find_paths(labels: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the canonical labels of header fields, and the names of values in items."""
    header = [label for label in labels if not label.startswith(("line_items.", "voided_items.", "payments."))]
    items = [label.removeprefix("line_items.") for label in labels if label.startswith("line_items.")]
    return (
        [label for label in header if label not in LISTS],
        [name for name in items if "." not in name and name not in LISTS],
    )


def canonical_schema(labels: Sequence[str]) -> Schema:
    """Return a schema that arranges canonical labels by their names, as text."""
    return Schema(
        fields=tuple(
            FieldSchema(
                label=label,
                path=re.sub(r"\b(line_items|voided_items|modifiers)\.", r"\1[].", label),
                anchor=label.endswith(".description"),
            )
            for label in labels
        )
    )


def split_items(record: Record) -> Record:
    """Return the record with an item for each value of an item."""
    return replace(record, items=[{name: value} for item in record.items for name, value in item.items()])


def select_fields(record: Record, paths: Mapping[str, str]) -> Record:
    """Return the record with only the header fields at these paths, under the given names."""
    return Record(
        {name: record.fields[path] for name, path in paths.items() if path in record.fields},
        record.items,
        {name: record.scores[path] for name, path in paths.items() if path in record.scores},
    )


def predict_records(
    extractor: Extractor, documents: Sequence[Document], labels: Sequence[str], items: Sequence[str]
) -> list[Record]:
    """Extract the values of documents by label, from where the schema of the model puts them."""
    places = extractor.schema.by_label
    paths = {label: places[label].path if label in places else label for label in labels}
    records = []
    for document in extractor.annotate(documents):
        found = output_record(to_fields(document, extractor.schema)[0], paths.values(), items)
        records.append(select_fields(found, paths))
    return records


def score(gold: Sequence[Record], predicted: Sequence[Record], item_names: Sequence[str] = ()) -> dict[str, Any]:
    """Score all header fields and items, single values of items by name, and the key fields of invoices alone."""
    result = score_records(gold, predicted)
    values = {name: [[_item_values(r, name) for r in part] for part in (gold, predicted)] for name in item_names}
    result["item_values"] = {name: score_records(*parts).get("items") for name, parts in values.items()}
    key = score_records([_key_fields(g) for g in gold], [_key_fields(p) for p in predicted])
    if key["gold"]:
        result["key_fields"] = {name: key[name] for name in ("precision", "recall", "f1", "gold", "interval")}
    return result


def _key_fields(record: Record) -> Record:
    fields: Mapping[str, str] = record.fields
    return Record({name: value for name, value in fields.items() if name in KEY_FIELDS})


def _item_values(record: Record, name: str) -> Record:
    return Record({}, [{name: item[name]} for item in record.items if name in item])


def _take(records: Sequence[Record], groups: Sequence[str], group: str) -> list[Record]:
    return [record for record, own in zip(records, groups, strict=True) if own == group]
