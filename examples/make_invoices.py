"""Make invoices to practise on: `python examples/make_invoices.py FOLDER` writes PDFs and values.csv beside them.

No two look quite alike: fields stand in other places, under other names, and beside other numbers.
"""

import argparse
import csv
import random
from datetime import date, timedelta
from pathlib import Path

NAMES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Hazel", "Juniper", "Larch", "Maple", "Oak", "Pine")
TRADES = ("Printing", "Plumbing", "Catering", "Joinery", "Electrics", "Gardening", "Freight", "Tailors")
KINDS = ("Ltd", "& Sons", "Inc", "Company", "Brothers")
ITEMS = ("Paper A4", "Copper pipe", "Lunch boxes", "Oak boards", "Cable 5 m", "Roses", "Pallet", "Lining", "Labour")
NUMBER_NAMES = ("Invoice No.", "Invoice", "Number:", "Ref.")
DATE_NAMES = ("Date:", "Invoice date", "Issued", "Date of invoice")
TOTAL_NAMES = ("Total", "Amount due", "Grand total", "To pay")
FIELDS = ("company", "number", "date", "total")


def invoice(dice: random.Random) -> tuple[dict[str, str], list[tuple[float, float, int, str]]]:
    """Give an invoice's values, and its texts as (x, y, size, text)."""
    company = f"{dice.choice(NAMES)} {dice.choice(TRADES)} {dice.choice(KINDS)}"
    day = date(2023, 1, 1) + timedelta(days=dice.randrange(900))
    written = day.strftime(dice.choice(("%d %B %Y", "%Y-%m-%d", "%d/%m/%Y", "%b %d, %Y")))
    number = f"{dice.choice('ABKX')}{dice.randrange(1000, 99999)}"
    prices = [dice.randrange(200, 40_000) / 100 for _ in range(dice.randrange(1, 7))]
    tax = round(sum(prices) * 0.2, 2)
    total = f"{sum(prices) + tax:,.2f}"
    left, right = dice.choice(((60, 340), (70, 400), (320, 60)))
    texts = [(left, 740.0, 16, company), (left, 720.0, 10, f"{dice.randrange(1, 200)} {dice.choice(NAMES)} Street")]
    y = 690.0
    beside = dice.random() < 0.6
    for name, value in dice.sample(
        [(dice.choice(NUMBER_NAMES), number), (dice.choice(DATE_NAMES), written), ("Customer", dice.choice(NAMES))], 3
    ):
        texts.append((right, y, 10, name))
        texts.append((right + 90, y, 10, value) if beside else (right, y - 13, 10, value))
        y -= 18 if beside else 32
    y -= 30
    for price in prices:
        texts += [(60, y, 10, dice.choice(ITEMS)), (480, y, 10, f"{price:,.2f}")]
        y -= 18
    last = [("Subtotal", f"{sum(prices):,.2f}"), ("VAT 20 %", f"{tax:,.2f}"), (dice.choice(TOTAL_NAMES), total)]
    for name, value in last:
        texts += [(360, y - 12, 11, name), (480, y - 12, 11, value)]
        y -= 18
    return dict(zip(FIELDS, (company, number, written, total), strict=True)), texts


def pdf(texts: list[tuple[float, float, int, str]]) -> bytes:
    """Write one page of text as a PDF."""
    shown = "".join(f"BT /F1 {size} Tf {x:g} {y:g} Td ({text}) Tj ET\n" for x, y, size, text in texts).encode()
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%sendstream" % (len(shown), shown),
    )
    file, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    size = len(objects) + 1
    ending = b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\n" % (size, table, size)
    return file + ending + b"startxref\n%d\n%%%%EOF\n" % len(file)


def main() -> None:
    """Write so many invoices and the table of their values."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--count", type=int, default=60)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    dice = random.Random(chosen.seed)  # noqa: S311
    chosen.folder.mkdir(parents=True, exist_ok=True)
    with (chosen.folder / "values.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ("file", *FIELDS))
        table.writeheader()
        for number in range(chosen.count):
            values, texts = invoice(dice)
            name = f"invoice-{number:03}.pdf"
            (chosen.folder / name).write_bytes(pdf(texts))
            table.writerow({"file": name, **values})


if __name__ == "__main__":
    main()
