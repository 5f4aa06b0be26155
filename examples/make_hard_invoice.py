"""Generate an invoice that is hard to read: `python examples/make_hard_invoice.py invoice.pdf`.

Each row has a net, a tax and a gross amount, a deposit and a fee stand among the totals, the article numbers are below
the descriptions, and the vendor is named in the footer only.
"""

import argparse
from pathlib import Path

from make_invoices import pdf

CUSTOMER = ("Heron Street Kitchen", "4 Heron Street", "Bristol BS1 4QA")
DETAILS = (("Document", "RE-40718"), ("Issued", "3 May 2024"), ("Page", "1 of 1"))
GOODS = (
    ("Espresso machine, two groups", "Art. 4410-2", 1, 1840.00),
    ("Bean grinder", "Art. 2207", 2, 265.00),
    ("Steel milk jug, 0.6 l", "Art. 0918", 6, 14.50),
)
VAT = 0.2
DEPOSIT, FEE = 500.00, 12.00
FOOTER = (
    "Tern Coffee Machines Ltd, Unit 9, Dock Road, Cardiff CF10 4LX",
    "IBAN GB33 BUKB 2020 1555 5555 55",
    "VAT No. GB 402 7716 21",
)


def texts() -> list[tuple[float, float, int, str]]:
    """Return the texts of the invoice as (x, y, font size, text)."""
    found = [(60.0, 780.0 - 14 * number, 10, text) for number, text in enumerate(CUSTOMER)]
    for number, (caption, value) in enumerate(DETAILS):
        found += [(380.0, 780.0 - 14 * number, 10, caption), (460.0, 780.0 - 14 * number, 10, value)]
    columns = (60.0, 260.0, 300.0, 370.0, 430.0, 490.0)
    heads = ("Item", "Qty", "Unit net", "Net", "VAT", "Gross")
    found += [(x, 690.0, 9, head) for x, head in zip(columns, heads, strict=True)]
    y = 690.0
    for name, article, quantity, price in GOODS:
        y -= 18
        net = quantity * price
        cells = (name, str(quantity), *(f"{amount:,.2f}" for amount in (price, net, net * VAT, net * (1 + VAT))))
        found += [(x, y, 10, cell) for x, cell in zip(columns, cells, strict=True)]
        y -= 12
        found += [(60.0, y, 8, article)]
    net = sum(quantity * price for _, _, quantity, price in GOODS)
    gross = net * (1 + VAT) + FEE
    totals = (
        ("Goods", net),
        ("VAT 20%", net * VAT),
        ("Card fee", FEE),
        ("Deposit paid", -DEPOSIT),
        ("To pay GBP", gross - DEPOSIT),
    )
    y -= 16
    for caption, amount in totals:
        y -= 18
        found += [(370.0, y, 10, caption), (490.0, y, 10, f"{amount:,.2f}")]
    return found + [(60.0, 430.0 - 12 * number, 8, text) for number, text in enumerate(FOOTER)]


def main() -> None:
    """Write the PDF."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="output file")
    parser.parse_args().file.write_bytes(pdf(texts()))


if __name__ == "__main__":
    main()
