from collections import Counter
from pathlib import Path

import pytest

from formnet.datasets.einvoices import EInvoices, read_record
from formnet.errors import CorpusError


def test_read_record_renames_values_and_joins_addresses() -> None:
    fields = {"invoice_id": "7", "seller_street": "Weg 1", "seller_city": "Ulm", "grand_total": "9.90", "x": "y"}
    items = [{"name": "Tee", "qty": "2.0000", "unit_price": "4.9500", "total": "9.9"}, {}]
    record = read_record({"invoice": "a", "language": "de", "fields": fields, "items": items})
    assert record.fields == {"vendor.address": "Weg 1 Ulm", "invoice_number": "7", "total": "9.90"}
    assert record.items == ({"description": "Tee", "quantity": "2", "unit_price": "4.95", "total": "9.90"},)


def test_einvoices_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no e-invoices found. Expected a folder with einvoices.jsonl.gz"):
        EInvoices(tmp_path)


def test_einvoices_splits_keep_renderings_of_an_invoice_together(data: Path) -> None:
    corpus = EInvoices(data / "einvoices")
    invoices = {split: {record.invoice for record in corpus.records(split)} for split in corpus.splits}
    assert [len(invoices[split]) for split in ("train", "validation", "test")] == [32, 7, 14]
    assert not invoices["train"] & (invoices["validation"] | invoices["test"])
    assert not invoices["validation"] & invoices["test"]
    assert {record.language for record in corpus.records("test")} == {"de", "fr", "en"}


@pytest.mark.slow
def test_einvoices_counts_match_published_and_items_are_found(data: Path) -> None:
    corpus = EInvoices(data / "einvoices")
    documents = list(corpus)
    items = [item for split in corpus.splits for record in corpus.records(split) for item in record.items]
    assert (len(documents), sum(len(document.pages) for document in documents)) == (352, 761)
    assert len(items) == 822  # ten of 832 have no values
    labels = Counter(entity.label for document in documents for entity in document.entities)
    parts = Counter((document.id, owner) for document in documents for owner, _ in document.links)
    assert len(parts) >= 800
    assert sum(count == 3 for count in parts.values()) >= 665  # description, quantity, unit price and total
    assert labels["line_items.total"] >= 770
    assert labels["line_items.description"] >= 745
    with_number = sum(any(e.label == "invoice_number" for e in document.entities) for document in documents)
    assert with_number == 344  # as many as print it
