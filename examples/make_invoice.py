"""Generate a synthetic invoice with line items: `python examples/make_invoice.py invoice.pdf`."""

import argparse
from pathlib import Path

from make_invoices import pdf

VENDOR = ("Larch & Hazel Joinery Ltd", "8 Quarry Lane", "Leeds LS12 4QD", "VAT No. GB 318 2475 90")
CUSTOMER = ("Birchwood Books", "27 Mill Street", "York YO1 9TF")
DETAILS = (("Invoice no.", "LH-2024-0187"), ("Invoice date", "14 June 2024"), ("Due date", "14 July 2024"))
GOODS = (
    ("Oak bookcase, 2.1 m", 2, 640.00),
    ("Shelf board, oak, 90 cm", 12, 18.50),
    ("Delivery and assembly", 1, 120.00),
)
PAYMENT = ("Please pay within 30 days.", "IBAN GB33 BUKB 2020 1555 5555 55", "BIC BUKBGB22")


def texts() -> list[tuple[float, float, int, str]]:
    """Return the texts of the invoice as (x, y, font size, text)."""
    found = [(60.0, 780.0 - 14 * number, 16 if number == 0 else 10, text) for number, text in enumerate(VENDOR)]
    found += [(380.0, 780.0, 20, "INVOICE")]
    found += [(60.0, 690.0, 9, "Bill to")]
    found += [(60.0, 676.0 - 14 * number, 10, text) for number, text in enumerate(CUSTOMER)]
    for number, (caption, value) in enumerate(DETAILS):
        found += [(380.0, 690.0 - 14 * number, 10, caption), (460.0, 690.0 - 14 * number, 10, value)]
    columns = (60.0, 320.0, 380.0, 480.0)
    found += [
        (x, 600.0, 9, name) for x, name in zip(columns, ("Description", "Qty", "Unit price", "Amount"), strict=True)
    ]
    y = 600.0
    for name, quantity, price in GOODS:
        y -= 18
        cells = (name, str(quantity), f"{price:,.2f}", f"{quantity * price:,.2f}")
        found += [(x, y, 10, cell) for x, cell in zip(columns, cells, strict=True)]
    net = sum(quantity * price for _, quantity, price in GOODS)
    y -= 16
    for caption, amount in (("Subtotal", net), ("VAT 20%", net * 0.2), ("Total GBP", net * 1.2)):
        y -= 18
        found += [(380.0, y, 10, caption), (480.0, y, 10, f"{amount:,.2f}")]
    return found + [(60.0, y - 50 - 14 * number, 9, text) for number, text in enumerate(PAYMENT)]


def main() -> None:
    """Write the PDF."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="output file")
    parser.parse_args().file.write_bytes(pdf(texts()))


if __name__ == "__main__":
    main()
