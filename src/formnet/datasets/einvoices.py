"""E-invoices (ZUGFeRD, Factur-X): PDF files whose embedded XML has the values of the printed invoice.

Layout: `einvoices.jsonl.gz` in FormNet JSONL with `fields` and `items` from the XML, the `language`, and `invoice`, a
key for all renderings of an invoice. The reader renames the values to the paths of the canonical schema and locates
them in the words, line items row by row.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from formnet.datasets.alignment import align, align_items
from formnet.datasets.base import Corpus
from formnet.document import Document, Entity
from formnet.document.reading_order import join_cells
from formnet.io.glued_words import split_glued_words
from formnet.io.readers.jsonl import Line, from_json, iter_lines, parse_json

FILE_NAME = "einvoices.jsonl.gz"
#: Values of the XML by path in the canonical schema; an address is the text of several values.
FIELDS = {
    "vendor.name": ("seller_name",),
    "vendor.address": ("seller_street", "seller_postcode", "seller_city"),
    "vendor.tax_id": ("seller_vat_id",),
    "customer.name": ("buyer_name",),
    "customer.address": ("buyer_street", "buyer_postcode", "buyer_city"),
    "invoice_number": ("invoice_id",),
    "invoice_date": ("invoice_date",),
    "due_date": ("due_date",),
    "subtotal": ("net_total",),
    "tax": ("tax_total",),
    "total": ("grand_total",),
    "amount_due": ("due_amount",),
    "iban": ("iban",),
}
ITEM_FIELDS = {"description": "name", "quantity": "qty", "unit_price": "unit_price", "total": "total"}
#: Beginnings of printed captions, next to which a value is looked for first.
CAPTIONS = {
    "invoice_number": ("rechnung", "nr", "nummer", "beleg", "facture", "numero", "invoice", "number", "no"),
    "invoice_date": ("datum", "rechnungsdatum", "vom", "date", "invoice"),
    "due_date": ("fallig", "zahlbar", "bis", "echeance", "due"),
    "vendor.tax_id": ("ust", "steuer", "tva", "vat", "tax"),
    "subtotal": ("netto", "nettobetrag", "summe", "rechnungssumme", "ht", "subtotal", "net"),
    "tax": ("ust", "mwst", "umsatzsteuer", "steuer", "mehrwertsteuer", "tva", "vat", "tax"),
    "total": ("brutto", "gesamt", "rechnungsbetrag", "endbetrag", "summe", "ttc", "total", "grand"),
    "amount_due": ("zahl", "fallig", "offen", "payer", "due", "payable", "amount", "balance"),
    "iban": ("iban",),
}
#: Fields that are labeled wherever their value is printed.
_REPEATED = ("vendor.name", "customer.name", "invoice_number")
#: Shares of the invoices in each language that are for testing and validation.
_TEST_SHARE, _VALIDATION_SHARE = 0.25, 0.1


@dataclass(frozen=True)
class Record:
    """The values of an invoice by path, and its line items."""

    invoice: str
    language: str
    fields: Mapping[str, str]
    items: tuple[Mapping[str, str], ...]


class EInvoices(Corpus):
    """The e-invoices."""

    entity_types = (*FIELDS, *(f"line_items.{name}" for name in ITEM_FIELDS))

    def find_splits(self) -> tuple[str, ...]:
        """Return the splits, which keep all renderings of an invoice together."""
        return ("train", "validation", "test") if self._file.is_file() else ()

    def expected(self) -> str:
        """Return the error message for a path without e-invoices."""
        return f"no e-invoices found. Expected a folder with {FILE_NAME}."

    def sources(self, split: str) -> Iterator[Line]:
        """Yield the lines of a split."""
        return (line for line in iter_lines(self._file) if self._splits[parse_json(line)["invoice"]] == split)

    def parse(self, source: Line) -> Document:
        """Parse one invoice and label its values."""
        data = parse_json(source)
        record = read_record(data)
        document = from_json({"id": data["id"], "pages": data["pages"], "fields": dict(record.fields)})
        return label_values(split_glued_words(document), record)

    def records(self, split: str) -> Iterator[Record]:
        """Yield the values in the XML of each document, in the order of `sources`."""
        return (read_record(parse_json(line)) for line in self.sources(split))

    @property
    def _file(self) -> Path:
        return self.path / FILE_NAME

    @cached_property
    def _splits(self) -> dict[str, str]:
        """The split of each invoice: a fixed share of the invoices in each language, chosen by a hash."""
        languages: dict[str, dict[str, int]] = {}
        for line in iter_lines(self._file):
            data = parse_json(line)
            counts = languages.setdefault(data["invoice"], {})
            counts[data["language"]] = counts.get(data["language"], 0) + 1
        invoices: dict[str, list[str]] = {}
        for invoice, counts in languages.items():
            invoices.setdefault(max(sorted(counts), key=lambda language: counts[language]), []).append(invoice)
        splits = {}
        for keys in invoices.values():
            test = math.ceil(_TEST_SHARE * len(keys))
            validation = test + math.ceil(_VALIDATION_SHARE * len(keys))
            for i, key in enumerate(sorted(keys, key=lambda key: sha256(key.encode()).digest())):
                splits[key] = "test" if i < test else "validation" if i < validation else "train"
        return splits


def read_record(data: Mapping[str, Any]) -> Record:
    """Return the values of an invoice under their canonical names, numbers without trailing zeros."""
    fields = {}
    for path, names in FIELDS.items():
        text = " ".join(value for name in names if (value := data["fields"].get(name, "").strip()))
        if text:
            fields[path] = text
    items = tuple(
        {
            name: value if name == "description" else _plain_number(value, name)
            for name, key in ITEM_FIELDS.items()
            if (value := item.get(key, "").strip())
        }
        for item in data["items"]
    )
    return Record(data["invoice"], data["language"], fields, tuple(item for item in items if item))


def _plain_number(text: str, name: str) -> str:
    """Return a number without trailing zeros, but an amount with cents.

    >>> _plain_number("3.0000", "quantity"), _plain_number("5.5000", "total"), _plain_number("3.3333", "unit_price")
    ('3', '5.50', '3.3333')
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    plain = f"{number.normalize():f}"
    decimals = len(plain.partition(".")[2])
    return plain if name == "quantity" or decimals > 2 else f"{number:.2f}"


def label_values(document: Document, record: Record) -> Document:
    """Return the document with entities for its values, and links from the description of an item to the rest.

    Items are located with the lines of each table cell together, as descriptions of several lines require.
    """
    entities: list[Entity] = []
    links: list[tuple[int, int]] = []
    joined, numbers = join_cells(document)
    for item in align_items(joined, record.items):
        owner = len(entities)
        names = sorted(item, key=lambda name: name != "description")
        entities += [document.entity(f"line_items.{name}", numbers[list(item[name])].tolist()) for name in names]
        links += [(owner, number) for number in range(owner + 1, len(entities))]
    alignment = align(replace(document, entities=tuple(entities), links=tuple(links)), captions=CAPTIONS)
    labeled = alignment.document
    used = {word for entity in labeled.entities for word in entity.words}
    repeated: list[Entity] = []
    for name in _REPEATED:
        for words in alignment.matches[name].others if name in alignment.matches else ():
            if used.isdisjoint(words):
                used.update(words)
                repeated.append(labeled.entity(name, words))
    return replace(labeled, entities=(*labeled.entities, *repeated))


CORPUS = EInvoices
