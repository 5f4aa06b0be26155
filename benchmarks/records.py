"""Structured output of a model on corpora with known values: header fields and complete items."""

from collections.abc import Mapping, Sequence
from typing import Any

from formnet.datasets import open_corpus
from formnet.datasets.einvoices import ITEM_FIELDS, EInvoices
from formnet.document import Document
from formnet.evaluation.records import Record, labeled_record, output_record, score_records
from formnet.extraction.extractor import Extractor
from formnet.extraction.fields import to_fields
from formnet.extraction.schema import Schema

#: Fields that a bookkeeper needs from every invoice.
KEY_FIELDS = ("invoice_number", "invoice_date", "total", "vendor.name")


def benchmark(model: str, spec: str) -> dict[str, Any]:
    """Score header fields, the key fields among them, and items; for e-invoices, also by language."""
    extractor = Extractor.from_pretrained(model)
    corpus = open_corpus(spec, canonical=True)
    documents = list(corpus)
    paths, items = find_paths(extractor.schema, corpus.entity_types)
    if isinstance(corpus, EInvoices):
        parts = [record for split in corpus.splits for record in corpus.records(split)]
        gold = [Record(part.fields, part.items) for part in parts]
        groups = [part.language for part in parts]
        items = tuple(ITEM_FIELDS)
    else:
        gold = [labeled_record(document, extractor.schema, paths, items) for document in documents]
        groups = [""] * len(documents)
    predicted = predict_records(extractor, documents, paths, items)
    result = {"model": model, "corpus": spec, **score(gold, predicted)}
    if len({*groups}) > 1:
        result["by_language"] = {
            name: score(_take(gold, groups, name), _take(predicted, groups, name)) for name in sorted({*groups})
        }
    return result


def find_paths(schema: Schema, labels: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the paths of header fields that a corpus has, and the names of values in its items."""
    fields = [schema.by_label[label] for label in labels if label in schema.by_label]
    header = [field.path for field in fields if not any(segment.is_list for segment in field.segments)]
    items = [field.path.removeprefix("line_items[].") for field in fields if field.path.startswith("line_items[].")]
    return list(dict.fromkeys(header)), tuple(name for name in items if "." not in name and "[" not in name)


def predict_records(
    extractor: Extractor, documents: Sequence[Document], paths: Sequence[str], items: Sequence[str]
) -> list[Record]:
    """Extract the values of documents."""
    annotated = extractor.annotate(documents)
    return [output_record(to_fields(document, extractor.schema)[0], paths, items) for document in annotated]


def score(gold: Sequence[Record], predicted: Sequence[Record]) -> dict[str, Any]:
    """Score all header fields and items, and the key fields of invoices alone."""
    result = score_records(gold, predicted)
    key = score_records([_key_fields(g) for g in gold], [_key_fields(p) for p in predicted])
    if key["gold"]:
        result["key_fields"] = {name: key[name] for name in ("precision", "recall", "f1", "gold", "interval")}
    return result


def _key_fields(record: Record) -> Record:
    fields: Mapping[str, str] = record.fields
    return Record({name: value for name, value in fields.items() if name in KEY_FIELDS})


def _take(records: Sequence[Record], groups: Sequence[str], group: str) -> list[Record]:
    return [record for record, own in zip(records, groups, strict=True) if own == group]
