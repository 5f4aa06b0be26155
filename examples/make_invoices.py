"""Generate synthetic invoices: `python examples/make_invoices.py FOLDER` writes PDF files and a `values.csv`.

The invoices vary in the position and name of each field and in the other numbers on the page.
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


def invoice(generator: random.Random) -> tuple[dict[str, str], list[tuple[float, float, int, str]]]:
    """Return the field values of a random invoice, and its texts as (x, y, font size, text)."""
    company = f"{generator.choice(NAMES)} {generator.choice(TRADES)} {generator.choice(KINDS)}"
    day = date(2023, 1, 1) + timedelta(days=generator.randrange(900))
    printed_date = day.strftime(generator.choice(("%d %B %Y", "%Y-%m-%d", "%d/%m/%Y", "%b %d, %Y")))
    number = f"{generator.choice('ABKX')}{generator.randrange(1000, 99999)}"
    prices = [generator.randrange(200, 40_000) / 100 for _ in range(generator.randrange(1, 7))]
    tax = round(sum(prices) * 0.2, 2)
    total = f"{sum(prices) + tax:,.2f}"
    left, right = generator.choice(((60, 340), (70, 400), (320, 60)))
    texts = [
        (left, 740.0, 16, company),
        (left, 720.0, 10, f"{generator.randrange(1, 200)} {generator.choice(NAMES)} Street"),
    ]
    y = 690.0
    same_line = generator.random() < 0.6
    for name, value in generator.sample(
        [
            (generator.choice(NUMBER_NAMES), number),
            (generator.choice(DATE_NAMES), printed_date),
            ("Customer", generator.choice(NAMES)),
        ],
        3,
    ):
        texts.append((right, y, 10, name))
        texts.append((right + 90, y, 10, value) if same_line else (right, y - 13, 10, value))
        y -= 18 if same_line else 32
    y -= 30
    for price in prices:
        texts += [(60, y, 10, generator.choice(ITEMS)), (480, y, 10, f"{price:,.2f}")]
        y -= 18
    totals = [("Subtotal", f"{sum(prices):,.2f}"), ("VAT 20 %", f"{tax:,.2f}"), (generator.choice(TOTAL_NAMES), total)]
    for name, value in totals:
        texts += [(360, y - 12, 11, name), (480, y - 12, 11, value)]
        y -= 18
    return dict(zip(FIELDS, (company, number, printed_date, total), strict=True)), texts


def pdf(texts: list[tuple[float, float, int, str]]) -> bytes:
    """Return a one-page PDF with the given texts."""
    content = "".join(f"BT /F1 {size} Tf {x:g} {y:g} Td ({text}) Tj ET\n" for x, y, size, text in texts).encode()
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 5 0 R "
        b"/Resources << /Font << /F1 3 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%sendstream" % (len(content), content),
    )
    file, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(file))
        file += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    size = len(objects) + 1
    trailer = b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R >>\n" % (size, table, size)
    return file + trailer + b"startxref\n%d\n%%%%EOF\n" % len(file)


def main() -> None:
    """Write the invoices and the table of their field values."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="output folder")
    parser.add_argument("--count", type=int, default=60, help="number of invoices (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    arguments = parser.parse_args()
    generator = random.Random(arguments.seed)  # noqa: S311
    arguments.folder.mkdir(parents=True, exist_ok=True)
    with (arguments.folder / "values.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, ("file", *FIELDS))
        table.writeheader()
        for number in range(arguments.count):
            values, texts = invoice(generator)
            name = f"invoice-{number:03}.pdf"
            (arguments.folder / name).write_bytes(pdf(texts))
            table.writerow({"file": name, **values})


if __name__ == "__main__":
    main()
