"""Random receipts as registers, restaurants, shops, fuel stations and hotels print them in seven countries.

Labels are the names of the canonical schema. As in CORD, the caption of an amount is part of its entity, as key words.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

import numpy as np

from formnet.document import Document
from formnet.training.synthetic.layout import Align, Cell, Grid
from formnet.training.synthetic.locales import CAPTIONS, FIRST_WORDS, LOCALES, NOTES, PEOPLE, TRADES, Locale, Trade

T = TypeVar("T")


def generate_receipt(seed: int) -> Document:
    """Generate the receipt of a seed: always the same one."""
    return _Receipt(np.random.default_rng(seed)).build(f"receipt-{seed:06}")


@dataclass
class _Item:
    """A line item, with amounts in cents."""

    description: str
    quantity: int
    unit_price: int
    total: int
    weight: float | None = None
    code: str = ""
    discount: int = 0
    modifiers: list[tuple[str, int]] = field(default_factory=list)


class _Receipt:
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
        self.when = datetime(2008, 1, 1) + timedelta(minutes=int(self.rng.integers(0, 18 * 365 * 24 * 60)))

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[int(self.rng.integers(len(options)))]

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return bool(self.rng.random() < probability)

    def build(self, name: str) -> Document:
        """Compose the receipt from top to bottom."""
        header_has_date = self.chance(0.7)
        self.add_header()
        if header_has_date:
            self.add_meta()
        self.rule()
        items = self.make_items()
        self.add_items(items)
        self.rule()
        total = self.add_totals(items)
        self.add_payment(total)
        if not header_has_date:
            self.add_meta()
        self.add_footer(items)
        return self.grid.to_document(name, self.rng)

    def text(self, text: str) -> str:
        """Fill in the placeholders of a line, and print it in capitals if the receipt is in capitals."""
        site = self.pick(FIRST_WORDS).replace(" ", "").replace("'", "").lower()
        filled = text.replace("{name}", self.pick(PEOPLE)).replace("{site}", site)
        while "{n}" in filled:
            filled = filled.replace("{n}", str(self.rng.integers(1, 10 ** int(self.rng.integers(1, 6)))), 1)
        while "{a}" in filled:
            filled = filled.replace("{a}", self.amount(int(self.rng.integers(100, 2000))), 1)
        return filled.upper() if self.is_upper else filled

    def digits(self, pattern: str) -> str:
        """Replace 9 and {d} by digits, in patterns of phones and postal codes."""
        return "".join(str(self.rng.integers(10)) if c == "9" else c for c in pattern.replace("{d}", "9"))

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

    def add_header(self) -> None:
        """Add the name, address and phone of the merchant."""
        align: Align = "left" if self.chance(0.25) else "center"
        name = f"{self.pick(FIRST_WORDS)} {self.pick(self.trade.names)}"
        form = self.pick(self.locale.company_forms)
        if form and self.chance(0.35):
            name = f"{name} {form}"
        if self.chance(0.1):
            name = name.replace(" ", "")
        if self.is_upper or self.chance(0.4):
            name = name.upper()
        if self.chance(0.15):
            self.note("header", align)
        scale = self.pick((1.0, 1.0, 1.5, 2.0))
        fits = len(name) * scale <= self.grid.width
        self.grid.add_line(Cell(name, align, label="merchant.name"), scale=scale if fits else 1.0)
        if self.chance(0.2):
            self.grid.add_line(Cell(self.text(f"{self.pick(self.trade.names)} #{{n}}"), align))
        if self.chance(0.25):
            self.note("header", align)
        if self.chance(0.9):
            self.add_address(align)
        if self.chance(0.75):
            caption = self.pick(self.captions["phone"])
            phone = self.digits(self.pick(self.locale.phones))
            self.add_captioned(caption, phone, "merchant.phone", align, keep_caption=False)
        if self.chance(0.3):
            self.grid.add_line(Cell(self.digits(self.pick(self.locale.tax_ids)), align))
        if self.chance(0.2):
            self.note("header", align)
        if self.chance(0.5):
            self.grid.skip()

    def add_address(self, align: Align) -> None:
        """Add an address on one or two lines."""
        street = self.pick(self.locale.streets).replace("{name}", self.pick(self.locale.street_names))
        street = self.text(street)
        city = self.digits(self.pick(self.locale.cities)).replace("AA", "XQ")
        city = city.upper() if self.is_upper else city
        if len(street) + len(city) + 2 <= self.grid.width and self.chance(0.25):
            self.grid.add_line(Cell(f"{street}, {city}", align, label="merchant.address"))
            return
        (number,) = self.grid.add_line(Cell(street, align, label="merchant.address"))
        self.grid.continue_entity(number, Cell(city, align))

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

    def add_meta(self) -> None:
        """Add the date, the time and lines such as the number of the table."""
        for _ in range(int(self.rng.integers(0, 3))):
            self.note("meta", "left")
        date = self.when.strftime(self.pick(self.locale.dates))
        time = self.when.strftime(self.pick(self.locale.times))
        date, time = (text.upper() if self.is_upper else text for text in (date, time))
        has_time = self.chance(0.8)
        if has_time and self.chance(0.65):  # both on one line
            caption = self.pick(self.captions["date"])
            cells = [Cell(caption)] if caption else []
            start = len(caption) + 1 if caption else 0
            cells.append(Cell(date, column=start, label="date"))
            end = start + len(date)
            if self.chance(0.4) and end + len(time) + 2 < self.grid.width:
                cells.append(Cell(time, "right", self.grid.width, "time"))
            else:
                between = self.pick((" ", " ", "  ", " - ", " at ")) if self.locale.language == "en" else " "
                if between.strip():
                    cells.append(Cell(between.strip(), column=end + 1))
                cells.append(Cell(time, column=end + len(between), label="time"))
            if self.chance(0.15):
                cells.reverse()
                column = 0
                for cell in cells:
                    cell.align, cell.column = "left", column
                    column += len(cell.text) + 1
            self.grid.add_line(*cells)
        else:
            self.add_captioned(self.pick(self.captions["date"]), date, "date", keep_caption=False)
            if has_time:
                self.add_captioned(self.pick(self.captions["time"]), time, "time", keep_caption=False)
        for _ in range(int(self.rng.integers(0, 4))):
            self.note("meta", "left")

    def make_items(self) -> list[_Item]:
        """Draw the items."""
        goods = self.trade.goods[self.locale.language]
        most = {"fuel": 2, "hotel": 5, "cafe": 5}.get(self.trade_name, 14)
        count = 1 + min(int(self.rng.geometric(0.22)) - 1, most - 1)
        low, high = self.trade.prices
        items = []
        for _ in range(count):
            unit_price = round(float(np.exp(self.rng.uniform(np.log(low), np.log(high)))) * 100)
            if self.chance(0.5):
                unit_price = max(unit_price // 10 * 10 - 1, 5)
            quantity = 1 if self.chance(0.75) else int(self.rng.integers(2, 7))
            item = _Item(self.pick(goods), quantity, unit_price, quantity * unit_price)
            item.code = "".join(map(str, self.rng.integers(0, 10, int(self.rng.integers(4, 13)))))
            if self.shape == "fuel" or (self.shape == "weight" and self.chance(0.5)):
                low_weight, high_weight = (0.2, 4) if self.shape == "weight" else (5, 60)
                item.weight = round(float(self.rng.uniform(low_weight, high_weight)), 3)
                item.unit_price = round(self.rng.uniform(90, 400))
                item.quantity, item.total = 1, round(item.weight * item.unit_price)
            if self.trade.modifiers and self.chance(0.2):
                extras = self.trade.modifiers[self.locale.language]
                item.modifiers = [
                    (self.pick(extras), int(self.rng.integers(1, 8)) * 25 if self.chance(0.4) else 0)
                    for _ in range(int(self.rng.integers(1, 3)))
                ]
            if self.trade_name in ("grocery", "shop") and self.chance(0.06):
                item.discount = max(item.total // int(self.rng.integers(3, 10)), 5)
            items.append(item)
        return items

    def add_items(self, items: Sequence[_Item]) -> None:
        """Add the items in the shape of this receipt."""
        has_header = self.shape == "columns" or self.chance(0.15)
        if has_header:
            quantity, name, price, total = (self.text(text) for text in self.captions["columns"])
            if self.shape == "columns":
                cells = [Cell(quantity), Cell(name, column=5), Cell(price, "right", self.grid.width - 9)]
            else:
                cells = [Cell(quantity), Cell(name, column=5)] if self.shape == "quantity_first" else [Cell(name)]
            self.grid.add_line(*cells, Cell(total, "right", self.grid.width))
        for item in items:
            owner = self.add_item(item)
            for text, extra in item.modifiers:
                cells = [Cell(self.text(text), column=2, label="line_items.modifiers.description")]
                if extra:
                    cells.append(Cell(self.amount(extra), "right", self.grid.width, "line_items.modifiers.total"))
                first, *rest = self.grid.add_line(*cells)
                self.grid.link(owner, [first])
                self.grid.link(first, rest)
            if item.discount:
                caption = self.text(self.pick(self.captions["discount_line"]))
                amount = Cell(self.amount(-item.discount), "right", self.grid.width, "line_items.discount")
                self.grid.link(owner, self.grid.add_line(Cell(caption, column=1), amount))
            if self.chance(0.015):
                words = f"{self.text(self.pick(self.captions['void']))} {item.description}"
                amount = Cell(self.amount(-item.total), "right", self.grid.width, "voided_items.total")
                first, *rest = self.grid.add_line(Cell(words, label="voided_items.description", key_words=1), amount)
                self.grid.link(first, rest)

    def add_item(self, item: _Item) -> int:
        """Add an item; return the number of its description."""
        grid, width = self.grid, self.grid.width
        total = self.amount(item.total, symbol=self.currency_on_items)
        unit_price = self.amount(item.unit_price, symbol=self.currency_on_items)
        amount = Cell(total, "right", width, "line_items.total")
        room = width - len(total) - 2
        name = item.description.upper() if self.is_upper else item.description
        quantity, times = str(item.quantity), self.pick(self.captions["each"])
        description, price, count = "line_items.description", "line_items.unit_price", "line_items.quantity"
        calculation = [
            Cell(quantity, column=2, label=count),
            Cell(times, column=3 + len(quantity)),
            Cell(unit_price, column=4 + len(quantity) + len(times), label=price),
        ]
        if item.weight is not None:
            weight = f"{item.weight:.3f}".replace(".", self.locale.decimal)
            unit = self.locale.weight_unit if self.shape == "weight" else self.pick(("L", "l", "GAL", "Ltr"))
            (owner,) = grid.add_line(Cell(name[:room], label=description))
            cells = [
                Cell(weight, column=1, label=count),
                Cell(f"{unit} {times}", column=2 + len(weight)),
                Cell(unit_price, column=4 + len(weight) + len(unit) + len(times), label=price),
            ]
            parts = grid.add_line(*cells, amount)
            grid.link(owner, parts)
            return owner
        if self.shape == "quantity_first":
            text = quantity if self.chance(0.8) else f"{quantity}{times}"
            name = name[: room - 4]
            column = len(text) + 1 + int(self.rng.integers(3))
            parts = grid.add_line(Cell(text, label=count), Cell(name, column=column, label=description), amount)
            owner = parts[1]
        elif self.shape == "quantity_last":
            name = name[: room - 8]
            middle = Cell(quantity, "right", width - len(total) - 3, count)
            parts = grid.add_line(Cell(name, label=description), middle, amount)
            owner = parts[0]
        elif self.shape == "columns":
            name = name[: max(width - len(unit_price) - 20, 6)]
            parts = grid.add_line(
                Cell(quantity, label=count),
                Cell(name, column=5, label=description),
                Cell(unit_price, "right", width - 9, price),
                amount,
            )
            owner = parts[1]
        elif self.shape in ("code_first", "code_below"):
            if self.shape == "code_first":
                name = name[: max(room - len(item.code) - 1, 5)]
                code = Cell(item.code, label="line_items.product_code")
                parts = grid.add_line(code, Cell(name, column=len(item.code) + 1, label=description), amount)
                owner = parts[1]
            else:
                parts = grid.add_line(Cell(name[:room], label=description), amount)
                owner = parts[0]
                parts = [*parts, *grid.add_line(Cell(item.code, column=1, label="line_items.product_code"))]
            if item.quantity > 1:
                parts = [*parts, *grid.add_line(*calculation)]
        elif self.shape == "two_lines" and (item.quantity > 1 or self.chance(0.3)):
            if self.chance(0.75):
                (owner,) = grid.add_line(Cell(name[:width], label=description))
                parts = grid.add_line(*calculation, amount)
            else:  # the calculation comes first
                before = grid.add_line(*calculation)
                parts = [*grid.add_line(Cell(name[:room], label=description), amount), *before]
                owner = parts[0]
        else:
            flagged = self.shape == "price_flag" and self.chance(0.8)
            flag = self.pick(("T", "A", "F", "B", "N", "X", "TF", "O"))
            amount.column = width - (len(flag) + 1 if flagged else 0)
            cells = [Cell(name[: room - 4], label=description), amount]
            if flagged:
                cells.append(Cell(flag, "right", width, "line_items.tax_flag"))
            parts = grid.add_line(*cells)
            owner = parts[0]
            if item.quantity > 1:
                parts = [*parts, *grid.add_line(*calculation)]
        grid.link(owner, parts)
        return owner

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

    def add_totals(self, items: Sequence[_Item]) -> int:
        """Add subtotal, discount, taxes, tip and total; return the total."""
        goods = sum(item.total - item.discount + sum(price for _, price in item.modifiers) for item in items)
        discount = goods // int(self.rng.integers(5, 20)) if self.chance(0.06) else 0
        service = round(goods * self.pick_rate()) if self.trade_name == "restaurant" and self.chance(0.08) else 0
        taxes = self.draw_taxes(goods - discount)
        added = 0 if self.locale.tax_included else sum(tax for _, tax in taxes)
        total = goods - discount + service + added
        is_tipped = self.trade_name in ("restaurant", "cafe") and self.chance(self.locale.tip_probability)
        tip = round(total * self.rng.uniform(0.08, 0.25)) if is_tipped else 0
        if self.chance(0.85) or discount or service:
            self.add_amount("subtotal", goods, "subtotal")
        if discount:
            self.add_amount("discount", -discount if self.chance(0.7) else discount, "discount")
        if service:
            caption = self.pick(self.captions["service"]).replace("{rate}", "10")
            self.add_amount("service", service, "service_charge", caption=caption)
        if not self.locale.tax_included:
            self.add_taxes(taxes)
        scale = 1.4 if self.chance(0.25) else 1.0
        if tip and self.chance(0.5):
            self.add_amount("tip", tip, "tip")
            total += tip
            tip = 0
        self.add_amount("total", total, "total", scale=scale)
        if self.locale.tax_included and self.chance(0.8):
            self.add_taxes(taxes)
        if tip:  # added by hand on a card slip
            if self.chance(0.3):
                self.rule()
            self.add_amount("tip", tip, "tip")
            total += tip
            self.add_amount("total", total, "total")
        return total

    def pick_rate(self) -> float:
        """Return the rate of a service charge."""
        return float(self.rng.choice([0.1, 0.125, 0.18, 0.2]))

    def draw_taxes(self, net: int) -> list[tuple[str, int]]:
        """Return captions and amounts of one to three taxes."""
        count = int(self.rng.choice([0, 1, 2, 3], p=[0.08, 0.72, 0.16, 0.04]))
        chosen = self.rng.permutation(len(self.locale.taxes))[:count].tolist()
        taxes = []
        for number in chosen:
            caption, rate = self.locale.taxes[number]
            share = rate / (1 + rate) if self.locale.tax_included else rate
            printed = f"{rate * 100:.3f}".rstrip("0").rstrip(".").replace(".", self.locale.decimal)
            taxes.append((caption.replace("{rate}", printed), max(round(net * share / count), 1)))
        return taxes

    def add_taxes(self, taxes: Sequence[tuple[str, int]]) -> None:
        """Add a line per tax."""
        for caption, tax in taxes:
            self.add_amount("tax", tax, "tax", caption=caption)

    def add_payment(self, total: int) -> None:
        """Add the payment by cash or card, with change or lines of a card terminal."""
        if self.chance(0.15):
            return
        if self.chance(0.4):
            paid = total if self.chance(0.3) else -(-total // 500) * 500
            self.add_amount("cash", paid, "payments.cash")
            if paid > total or self.chance(0.5):
                self.add_amount("change", paid - total, "change")
            return
        if self.chance(0.85):
            self.add_amount("card", total, "payments.card")
        if self.chance(0.25):
            self.add_amount("change", 0, "change")
        for _ in range(int(self.rng.integers(0, 5))):
            self.note("card", "left" if self.chance(0.5) else "center")

    def add_footer(self, items: Sequence[_Item]) -> None:
        """Add the number of items, suggested tips and thanks."""
        if self.trade_name in ("grocery", "shop") and self.chance(0.3):
            count = sum(item.quantity for item in items)
            align: Align = "left" if self.chance(0.5) else "center"
            self.add_captioned(self.pick(self.captions["quantity"]), str(count), "total_quantity", align)
        if self.trade_name == "restaurant" and self.chance(0.25):
            for _ in range(int(self.rng.integers(1, 4))):
                self.note("tips", "left")
        for _ in range(int(self.rng.integers(0, 5))):
            self.note("footer")
