from collections import Counter
from pathlib import Path

import pytest

from formnet.datasets.einvoices import EInvoices, Record, label_values, read_record
from formnet.document.builder import DocumentBuilder
from formnet.errors import CorpusError


def test_read_record_renames_values_and_joins_addresses() -> None:
    fields = {"invoice_id": "7", "seller_street": "Weg 1", "seller_city": "Ulm", "grand_total": "9.90", "x": "y"}
    items = [{"name": "Tee", "qty": "2.0000", "unit_price": "4.9500", "total": "9.9"}, {}]
    record = read_record({"invoice": "a", "language": "de", "fields": fields, "items": items})
    assert record.fields == {"vendor.address": "Weg 1 Ulm", "invoice_number": "7", "total": "9.90"}
    assert record.items == ({"description": "Tee", "quantity": "2", "unit_price": "4.95", "total": "9.90"},)


def test_label_values_description_of_several_lines_is_one_entity() -> None:
    rows = [
        (0, "Artikel", "Menge", "Betrag"),
        (30, "Regal", "2", "12,00"),
        (42, "Eiche"),
        (80, "Lieferung", "1", "4,00"),
    ]
    cells = [(80 * column, top, text) for top, *texts in rows for column, text in enumerate(texts)]
    builder = DocumentBuilder("invoice")
    boxes = [[left, top, left + 40, top + 10] for left, top, _ in cells]
    builder.add_page([text for _, _, text in cells], boxes, 300, 200)
    items = (
        {"description": "Regal Eiche", "quantity": "2", "total": "12.00"},
        {"description": "Lieferung", "quantity": "1", "total": "4.00"},
    )
    document = label_values(builder.build(), Record("a", "de", {}, items))
    found = [(entity.label, entity.text, entity.words) for entity in document.entities]
    assert found[:3] == [
        ("line_items.description", "Regal Eiche", (3, 6)),
        ("line_items.quantity", "2", (4,)),
        ("line_items.total", "12,00", (5,)),
    ]
    assert document.links == ((0, 1), (0, 2), (3, 4), (3, 5))


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
