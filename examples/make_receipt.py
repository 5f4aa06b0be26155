"""Make a receipt that looks photographed: `python examples/make_receipt.py receipt.jpg`. Shop and goods are made up."""

import argparse
import random
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

SHOP = ("KEDAI KOPI MELUR SDN BHD", "(1048596-X)", "12, JALAN KENARI 5, BANDAR PUCHONG JAYA", "47100 PUCHONG, SELANGOR")
GOODS = (
    ("KOPI O KAW", 2, 3.50),
    ("NASI LEMAK AYAM", 1, 12.90),
    ("ROTI BAKAR KAYA", 2, 4.20),
    ("TEH TARIK ISTIMEWA", 1, 4.80),
    ("KUIH LAPIS", 3, 1.60),
)
WIDTH, LINE, MARGIN = 760, 44, 48


def lines() -> list[tuple[str, str, int]]:
    """Give the receipt as (left, right, size) a line; a line without a right part is centerd if it is the shop's."""
    total = sum(count * price for _, count, price in GOODS)
    paid = 50.0
    rows: list[tuple[str, str, int]] = [(SHOP[0], "", 34), *((text, "", 24) for text in SHOP[1:]), ("", "", 20)]
    rows += [("TAX INVOICE", "", 30), ("", "", 12)]
    rows += [("INVOICE NO: CS-20418", "DATE: 14/06/2024", 24), ("CASHIER: AINA", "TIME: 09:42", 24), ("", "", 16)]
    rows += [(f"{count} x {name}", f"{count * price:.2f}", 26) for name, count, price in GOODS]
    rows += [("", "", 16), ("SUBTOTAL", f"{total:.2f}", 26), ("SST 6% (INCL.)", f"{total * 6 / 106:.2f}", 26)]
    rows += [("TOTAL (RM)", f"{total:.2f}", 36), ("CASH", f"{paid:.2f}", 26), ("CHANGE", f"{paid - total:.2f}", 26)]
    return [*rows, ("", "", 16), ("THANK YOU, PLEASE COME AGAIN", "", 24)]


def print_out() -> Image.Image:
    """Print the receipt on white paper."""
    rows = lines()
    paper = Image.new("L", (WIDTH, LINE * len(rows) + 2 * MARGIN), 248)
    pen = ImageDraw.Draw(paper)
    for number, (left, right, size) in enumerate(rows):
        font = ImageFont.load_default(size)
        y = MARGIN + LINE * number
        if right:
            pen.text((MARGIN, y), left, 40, font)
            pen.text((WIDTH - MARGIN, y), right, 40, font, anchor="ra")
        else:
            pen.text((WIDTH / 2, y), left, 40, font, anchor="ma")
    return paper


def photograph(paper: Image.Image, seed: int = 0) -> Image.Image:
    """Lay it on a table, a little turned, lit from one side, and take a picture that is not quite sharp."""
    dice, noise = random.Random(seed), np.random.default_rng(seed)  # noqa: S311
    width, height = paper.width + 240, paper.height + 240
    table = np.full((height, width), 96.0) + noise.normal(0, 6, (height, width)).cumsum(axis=1) * 0.05
    scene = Image.fromarray(table.clip(60, 140).astype(np.uint8))
    turned = paper.rotate(dice.uniform(-1.6, 1.6), Image.Resampling.BICUBIC, expand=True, fillcolor=0)
    mask = turned.point(lambda value: 255 if value > 8 else 0).filter(ImageFilter.MaxFilter(5))
    scene.paste(turned, ((width - turned.width) // 2, (height - turned.height) // 2), mask)
    light = np.linspace(1.06, 0.78, width)[None, :] * np.linspace(1.03, 0.9, height)[:, None]
    seen = np.asarray(scene.filter(ImageFilter.GaussianBlur(0.9)), float)
    gray = (seen * light + noise.normal(0, 4, (height, width))).clip(0, 255)
    warm = np.stack([gray * 1.0, gray * 0.97, gray * 0.9], axis=-1).clip(0, 255).astype(np.uint8)
    return Image.fromarray(warm)


def main() -> None:
    """Write the picture."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("file", type=Path)
    photograph(print_out()).save(options.parse_args().file, quality=82)


if __name__ == "__main__":
    main()
