"""Generate a synthetic photo of a receipt: `python examples/make_receipt.py receipt.jpg`."""

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


#: A line as (left, right, font size); lines without a right part are centered.
Row = tuple[str, str, int]


def lines() -> list[Row]:
    """Return the lines of the receipt."""
    total = sum(count * price for _, count, price in GOODS)
    paid = 50.0
    rows: list[Row] = [(SHOP[0], "", 34), *((text, "", 24) for text in SHOP[1:]), ("", "", 20)]
    rows += [("TAX INVOICE", "", 30), ("", "", 12)]
    rows += [("INVOICE NO: CS-20418", "DATE: 14/06/2024", 24), ("CASHIER: AINA", "TIME: 09:42", 24), ("", "", 16)]
    rows += [(f"{count} x {name}", f"{count * price:.2f}", 26) for name, count, price in GOODS]
    rows += [("", "", 16), ("SUBTOTAL", f"{total:.2f}", 26), ("SST 6% (INCL.)", f"{total * 6 / 106:.2f}", 26)]
    rows += [("TOTAL (RM)", f"{total:.2f}", 36), ("CASH", f"{paid:.2f}", 26), ("CHANGE", f"{paid - total:.2f}", 26)]
    return [*rows, ("", "", 16), ("THANK YOU, PLEASE COME AGAIN", "", 24)]


def draw_receipt(rows: list[Row]) -> Image.Image:
    """Draw lines on a light background."""
    paper = Image.new("L", (WIDTH, LINE * len(rows) + 2 * MARGIN), 248)
    draw = ImageDraw.Draw(paper)
    for number, (left, right, size) in enumerate(rows):
        font = ImageFont.load_default(size)
        y = MARGIN + LINE * number
        if right:
            draw.text((MARGIN, y), left, 40, font)
            draw.text((WIDTH - MARGIN, y), right, 40, font, anchor="ra")
        else:
            draw.text((WIDTH / 2, y), left, 40, font, anchor="ma")
    return paper


def photograph(paper: Image.Image, seed: int = 0) -> Image.Image:
    """Simulate a photo: dark background, slight rotation, uneven light, blur and noise."""
    generator, noise = random.Random(seed), np.random.default_rng(seed)  # noqa: S311
    width, height = paper.width + 240, paper.height + 240
    background = np.full((height, width), 96.0) + noise.normal(0, 6, (height, width)).cumsum(axis=1) * 0.05
    scene = Image.fromarray(background.clip(60, 140).astype(np.uint8))
    rotated = paper.rotate(generator.uniform(-1.6, 1.6), Image.Resampling.BICUBIC, expand=True, fillcolor=0)
    mask = rotated.point(lambda value: 255 if value > 8 else 0).filter(ImageFilter.MaxFilter(5))
    scene.paste(rotated, ((width - rotated.width) // 2, (height - rotated.height) // 2), mask)
    light = np.linspace(1.06, 0.78, width)[None, :] * np.linspace(1.03, 0.9, height)[:, None]
    blurred = np.asarray(scene.filter(ImageFilter.GaussianBlur(0.9)), float)
    gray = (blurred * light + noise.normal(0, 4, (height, width))).clip(0, 255)
    warm = np.stack([gray * 1.0, gray * 0.97, gray * 0.9], axis=-1).clip(0, 255).astype(np.uint8)
    return Image.fromarray(warm)


def main() -> None:
    """Write the image."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path, help="output file")
    photograph(draw_receipt(lines())).save(parser.parse_args().file, quality=82)


if __name__ == "__main__":
    main()
