"""Generate a photo of a receipt that is hard to read: `python examples/make_hard_receipt.py receipt.jpg`.

The name of the restaurant stands between a slogan and the name of a food hall, the table between the lines of its
address, modifiers below the items have no price, and tips are only suggested.
"""

import argparse
from pathlib import Path

from make_receipt import Row, draw_receipt, photograph

GOODS = (
    ("2 Fish tacos", 24.00, ("No onions", "Spicy")),
    ("1 Clam chowder", 11.50, ("Bread on side",)),
    ("3 Iced tea", 10.50, ()),
    ("1 Lemon tart", 7.25, ("To go",)),
)
TAX = 0.085


def lines() -> list[Row]:
    """Return the lines of the receipt."""
    subtotal = sum(price for _, price, _ in GOODS)
    total = subtotal * (1 + TAX)
    rows: list[Row] = [
        ("Fresh off the boat, daily!", "", 36),
        ("the heron room", "", 24),
        ("at Pier Market Hall", "", 24),
    ]
    rows += [("118 Pier Street", "", 24), ("Table 12 - Guests 3", "", 24), ("Portland, OR 97204", "", 24)]
    rows += [("503-555-0142", "", 24), ("", "", 16), ("Server: Ida", "Check 4471", 24), ("Dine In", "", 24)]
    rows += [("Opened Jun 14 2024 7:42 PM", "", 24), ("", "", 16)]
    for name, price, modifiers in GOODS:
        rows.append((name, f"{price:.2f}", 26))
        rows += [(modifier, " ", 22) for modifier in modifiers]  # not centered
    rows += [("", "", 16), ("Food & Bev", f"{subtotal:.2f}", 26), ("OR Tax", f"{subtotal * TAX:.2f}", 26)]
    rows += [("Amount", f"${total:.2f}", 36), ("", "", 16), ("Suggested gratuity", "", 24)]
    rows += [
        (f"{share}% Tip {subtotal * share / 100:.2f}", f"Total {total + subtotal * share / 100:.2f}", 24)
        for share in (18, 20)
    ]
    return [*rows, ("Closed Jun 14 2024 8:55 PM", "", 24)]


def main() -> None:
    """Write the image."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="output file")
    photograph(draw_receipt(lines()), seed=1).save(parser.parse_args().file, quality=82)


if __name__ == "__main__":
    main()
