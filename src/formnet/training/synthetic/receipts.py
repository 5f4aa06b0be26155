"""Random receipts as registers, restaurants, shops, fuel stations and hotels print them in seven countries.

Labels are the names of the canonical schema. As in CORD, the caption of an amount is part of its entity, as key words.
"""

from collections.abc import Sequence

import numpy as np

from formnet.document import Document
from formnet.training.synthetic.items import Item, ItemPrinter
from formnet.training.synthetic.layout import Align, Cell
from formnet.training.synthetic.locales import FAX_CAPTIONS, LOGO_NOISE, MISREAD, REGISTRATIONS
from formnet.training.synthetic.names import STATES, SURNAMES, merchant_name, town


def generate_receipt(seed: int) -> Document:
    """Generate the receipt of a seed: always the same one."""
    return _Receipt(np.random.default_rng(seed)).build(f"receipt-{seed:06}")


class _Receipt(ItemPrinter):
    """Prints a receipt from top to bottom."""

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

    def add_header(self) -> None:
        """Add the name, address and phone of the merchant."""
        align: Align = "left" if self.chance(0.25) else "center"
        if self.chance(0.08):
            for _ in range(int(self.rng.integers(1, 4))):  # what OCR reads in a logo
                self.grid.add_line(Cell(self.digits(self.pick(LOGO_NOISE)), align))
        if self.chance(0.04) and "survey" in self.notes:
            for _ in range(int(self.rng.integers(2, 8))):
                self.note("survey")
        if self.chance(0.2):
            self.note("header", align)
        if self.chance(0.06):
            for _ in range(int(self.rng.integers(1, 3))):
                self.note("meta", align)
        name = self.draw_name()
        if self.chance(0.15):
            self.add_logo(name, align)
        self.add_name(name, align)
        if self.chance(0.2):
            self.grid.add_line(Cell(self.text(f"{self.pick(self.trade.names)} #{{n}}"), align))
        if self.chance(0.12):
            self.note("slogan", align)
        if self.chance(0.25):
            self.note("header", align)
        if self.chance(0.25):
            self.grid.add_line(Cell(self.digits(self.pick(REGISTRATIONS)), align))
        blocks = [self.add_address] * self.chance(0.9) + [self.add_phone] * self.chance(0.75)
        if self.chance(0.1):
            blocks.reverse()
        for add_block in blocks:
            add_block(align)
        if self.chance(0.3):
            self.grid.add_line(Cell(self.digits(self.pick(self.locale.tax_ids)), align))
        if self.chance(0.2):
            self.note("header", align)
        if self.chance(0.5):
            self.grid.skip()

    def draw_name(self) -> str:
        """Return the name of the merchant as it is printed."""
        name = merchant_name(self.pick, self.locale.language, self.trade.names)
        form = self.pick(self.locale.company_forms)
        if form and self.chance(0.3):
            name = f"{name} {form}"
        if self.chance(0.08):
            name = name.replace(" ", "")
        return name.upper() if self.is_upper or self.chance(0.45) else name

    def add_logo(self, name: str, align: Align) -> None:
        """Add what OCR reads in a logo: some words of the name or its initials, often misread; it has no label."""
        words = name.split()
        start = int(self.rng.integers(len(words)))
        stop = int(self.rng.integers(start, len(words))) + 1
        text = " ".join(words[start:stop]) if self.chance(0.8) else "".join(word[0] for word in words)
        text = self.pick((text, text.upper(), text.lower(), text.title()))
        read = "".join(self.pick(MISREAD.get(c.lower(), (c,))) if self.chance(0.15) else c for c in text)
        for line in read.split() if self.chance(0.3) else [read]:
            self.grid.add_line(Cell(line, align), scale=self.pick((1.0, 1.5, 2.0)))

    def add_name(self, name: str, align: Align) -> None:
        """Add the name of the merchant on one or two lines, often larger than other lines, or with a store number."""
        scale = self.pick((1.0, 1.0, 1.5, 2.0))
        scale = scale if len(name) * scale <= self.grid.width else 1.0
        words = name.split()
        number = f"{self.pick(('- ', '#', 'No. ', ''))}{self.rng.integers(1, 10000):04}"
        if len(words) > 1 and self.chance(0.2):
            split = int(self.rng.integers(1, len(words)))
            (entity,) = self.grid.add_line(Cell(" ".join(words[:split]), align, label="merchant.name"), scale=scale)
            self.grid.continue_entity(entity, Cell(" ".join(words[split:]), align), scale=scale)
        elif len(name) + len(number) < self.grid.width and self.chance(0.07):
            start = 0 if align == "left" else (self.grid.width - len(name) - len(number)) // 2
            self.grid.add_line(
                Cell(name, column=start, label="merchant.name"), Cell(number, column=start + len(name) + 1)
            )
        else:
            self.grid.add_line(Cell(name, align, label="merchant.name"), scale=scale)

    def add_address(self, align: Align) -> None:
        """Add an address on one to three lines."""
        street = self.pick(self.locale.streets).replace("{name}", self.pick(self.locale.street_names))
        street = self.text(street)
        city = self.digits(self.pick(self.locale.cities)).replace("AA", "XQ")
        city = city.replace("{town}", town(self.pick, self.locale.language)).replace("{state}", self.pick(STATES))
        city = city.upper() if self.is_upper else city
        lines = [street, city]
        if len(street) + len(city) + 2 <= self.grid.width and self.chance(0.25):
            lines = [f"{street}, {city}"]
        elif self.chance(0.1):
            mall = f"{self.pick(SURNAMES)} {self.pick(('Plaza', 'Center', 'Mall', 'Centre', 'Square', 'Building'))}"
            lines.insert(0, mall.upper() if self.is_upper else mall)
        (number,) = self.grid.add_line(Cell(lines[0], align, label="merchant.address"))
        for line in lines[1:]:
            self.grid.continue_entity(number, Cell(line, align))

    def add_phone(self, align: Align) -> None:
        """Add a phone number and, on some receipts, a fax number, which has no label."""
        caption = self.pick(self.captions["phone"])
        phone, fax = (self.digits(self.pick(self.locale.phones)) for _ in range(2))
        self.add_captioned(caption, phone, "merchant.phone", align, keep_caption=False)
        if caption and self.chance(0.3):
            fax = f"{self.pick(FAX_CAPTIONS)} {fax}"
            self.grid.add_line(Cell(fax.upper() if self.is_upper else fax, align))

    def add_meta(self) -> None:
        """Add the date, the time and lines such as the number of the table."""
        for _ in range(int(self.rng.integers(0, 3))):
            self.note("meta", "left")
        date, time = self.date_and_time()
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

    def date_and_time(self) -> tuple[str, str]:
        """Return the date and the time in the formats of the receipt."""
        date, time = self.when.strftime(self.date_format), self.when.strftime(self.time_format)
        return (date.upper(), time.upper()) if self.is_upper else (date, time)

    def add_totals(self, items: Sequence[Item]) -> int:
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
        if self.chance(0.1):
            self.add_amount("total", total, "total")  # as in "Total" and "Balance due"
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
        if self.chance(0.2):  # date and time again, by the terminal
            date, time = self.date_and_time()
            self.grid.add_line(Cell(date, label="date"), Cell(time, column=len(date) + 1, label="time"))

    def add_footer(self, items: Sequence[Item]) -> None:
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
