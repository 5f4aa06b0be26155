"""Line items of synthetic receipts, in the shapes in which registers print them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from formnet.training.synthetic.layout import Cell
from formnet.training.synthetic.printer import ReceiptPrinter


@dataclass
class Item:
    """A line item, with amounts in cents."""

    description: str
    quantity: int
    unit_price: int
    total: int
    weight: float | None = None
    code: str = ""
    discount: int = 0
    modifiers: list[tuple[str, int]] = field(default_factory=list)


class ItemPrinter(ReceiptPrinter):
    """Draws items and prints them."""

    def make_items(self) -> list[Item]:
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
            item = Item(self.pick(goods), quantity, unit_price, quantity * unit_price)
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

    def add_items(self, items: Sequence[Item]) -> None:
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

    def add_item(self, item: Item) -> int:
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
