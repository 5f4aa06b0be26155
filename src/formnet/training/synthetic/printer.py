"""The conventions of one receipt, and the lines that follow them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

import numpy as np

from formnet.training.synthetic.layout import Align, Cell, Grid
from formnet.training.synthetic.locales import CAPTIONS, FIRST_WORDS, LOCALES, NOTES, PEOPLE, TRADES, Locale, Trade

T = TypeVar("T")


class ReceiptPrinter:
    """A receipt in the making: its conventions are drawn once and used on every line."""

    def __init__(self, generator: np.random.Generator) -> None:
        self.rng = generator
        country = self.pick(("US",) * 6 + ("GB", "GB", "CA", "AU", "DE", "DE", "FR", "ES"))
        self.locale: Locale = LOCALES[country]
        self.captions, self.notes = CAPTIONS[self.locale.language], NOTES[self.locale.language]
        trades = ("restaurant",) * 4 + ("grocery",) * 3 + ("shop",) * 2 + ("cafe",) * 2 + ("fuel", "hotel")
        self.trade_name = self.pick(trades)
        self.trade: Trade = TRADES[self.trade_name]
        self.symbol, self.suffix = self.pick(self.locale.currency), self.pick(self.locale.currency_after or ("",))
        self.is_upper = self.chance(0.35)
        self.grid = Grid(int(self.rng.integers(28, 50)))
        self.currency_on_items = self.chance(0.4)
        self.separator = self.pick(("", "", "-", "=", "*", "."))
        self.left_totals = self.chance(0.15)  # captions of totals start in the middle
        self.shape = self.pick(self.trade.shapes)
        self.date_format, self.time_format = self.pick(self.locale.dates), self.pick(self.locale.times)
        self.when = datetime(2008, 1, 1) + timedelta(minutes=int(self.rng.integers(0, 18 * 365 * 24 * 60)))

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return bool(self.rng.random() < probability)

    def text(self, text: str) -> str:
        """Fill in the placeholders of a line, and print it in capitals if the receipt is in capitals."""
        site = self.pick(FIRST_WORDS).replace(" ", "").replace("'", "").lower()
        filled = text.replace("{name}", self.pick(PEOPLE)).replace("{site}", site)
        while "{n}" in filled:
            filled = filled.replace("{n}", str(self.rng.integers(1, 10 ** int(self.rng.integers(1, 6)))), 1)
        while "{a}" in filled:
            filled = filled.replace("{a}", self.amount(int(self.rng.integers(100, 2000))), 1)
        while "{d}" in filled:
            filled = filled.replace("{d}", str(self.rng.integers(10)), 1)
        return filled.upper() if self.is_upper else filled

    def digits(self, pattern: str) -> str:
        """Replace 9 and {d} by digits and ? by a letter, in patterns of phones, postal codes and other numbers."""
        filled = "".join(str(self.rng.integers(10)) if c == "9" else c for c in pattern.replace("{d}", "9"))
        return filled.replace("?", self.pick("ABDHKMPTUVWX"))

    def amount(self, cents: int, *, symbol: bool = False) -> str:
        """Format an amount."""
        units, rest = divmod(abs(cents), 100)
        text = f"{units:,}".replace(",", self.locale.thousands) + f"{self.locale.decimal}{rest:02}"
        if symbol:
            text = f"{self.symbol}{text}{self.suffix}"
        return f"-{text}" if cents < 0 else text

    def rule(self) -> None:
        """Separate parts of the receipt by a line of dashes, or by space."""
        if self.separator and self.chance(0.7):
            self.grid.add_line(Cell(self.separator * int(self.rng.integers(8, self.grid.width))))
        elif self.chance(0.5):
            self.grid.skip()

    def note(self, kind: str, align: Align = "center") -> None:
        """Add a line without a label."""
        self.grid.add_line(Cell(self.text(self.pick(self.notes[kind])), align))

    def add_captioned(
        self, caption: str, value: str, label: str, align: Align = "left", *, keep_caption: bool = True
    ) -> None:
        """Add a line with a caption and a value; the caption is part of the entity only if it is kept."""
        caption = caption.upper() if self.is_upper else caption
        if not caption:
            self.grid.add_line(Cell(value, align, label=label))
        elif keep_caption:
            text = f"{caption} {value}"
            self.grid.add_line(Cell(text, align, label=label, key_words=len(caption.split())))
        else:
            length = len(caption) + 1 + len(value)
            start = 0 if align == "left" else max((self.grid.width - length) // 2, 0)
            self.grid.add_line(Cell(caption, column=start), Cell(value, column=start + len(caption) + 1, label=label))

    def add_amount(self, kind: str, cents: int, label: str, *, caption: str | None = None, scale: float = 1.0) -> None:
        """Add a line of totals: a caption and an amount, which form one entity."""
        caption = self.text(caption or self.pick(self.captions[kind]))
        amount = self.amount(cents, symbol=self.chance(0.6))
        start = self.grid.width // 3 if self.left_totals else 0
        end = self.grid.width
        if (start + len(caption) + 1 + len(amount)) * scale > end:
            start, scale = 0, 1.0
        cells = [Cell(caption, column=start), Cell(amount, "right", end)]
        first = len(self.grid.words)
        self.grid.add_line(*cells, scale=scale)
        keys = list(range(first, first + len(caption.split())))
        self.grid.entities.append((label, list(range(first, len(self.grid.words))), keys))
