"""Reading values: text folded to what matters, amounts as decimals, dates under each convention."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple


@lru_cache(maxsize=65536)
def fold(text: str) -> str:
    """Keep letters and digits only, in one case and without accents.

    >>> fold("Café Zoë (№ 12)")
    'cafezoeno12'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if c.isalnum())


class Found(NamedTuple):
    """Something with a meaning, and where in the text it stands."""

    start: int
    stop: int
    meaning: frozenset[object]

    def same(self, meaning: frozenset[object]) -> bool:
        """Tell whether the two can mean the same."""
        return bool(self.meaning & meaning)


_CURRENCY = r"(?:[$€£¥₹₽]|\b(?:rm|myr|usd|us|eur|gbp|idr|rp|sgd|s)\b\.?|(?<=\b)rm(?=\d)|(?<=\b)rp(?=\d))"
_NUMBER = r"\d+(?:[.,' ]\d{3})*(?:[.,]\d{1,2})?|\d+[.,]\d+"
_AMOUNT = re.compile(rf"(?<![\d.,])(?:{_NUMBER})(?![\d]|[.,]\d)", re.IGNORECASE)
_WHOLE_AMOUNT = re.compile(
    rf"\s*\(?[-+]?\s*(?P<sign>{_CURRENCY})?\s*[-+]?\s*(?P<number>{_NUMBER})\s*(?P<after>{_CURRENCY})?[-)]?\s*",
    re.IGNORECASE,
)


def amount(value: str) -> frozenset[object] | None:
    """Read a keyed-in amount; nothing if it is not clearly one (a bare whole number may count anything).

    >>> amount("RM 9.00") == amount("$9"), amount("9"), amount("12 Main Street")
    (True, None, None)
    """
    match = _WHOLE_AMOUNT.fullmatch(value)
    sure = match and (match["sign"] or match["after"] or re.search(r"[.,]\d{1,2}$", match["number"]))
    return number(value) if sure else None


def number(value: str) -> frozenset[object] | None:
    """Read a keyed-in number, whatever it counts."""
    match = _WHOLE_AMOUNT.fullmatch(value)
    return frozenset({decimal(match["number"])}) if match else None


def amounts(text: str) -> Iterator[Found]:
    """Find every number that could be an amount."""
    for match in _AMOUNT.finditer(text):
        yield Found(match.start(), match.end(), frozenset({decimal(match[0])}))


def decimal(digits: str) -> Decimal:
    """Read digits with either convention for thousands and decimals.

    >>> decimal("1,234.50"), decimal("1.234,50"), decimal("1,234"), decimal("16.500")
    (Decimal('1234.50'), Decimal('1234.50'), Decimal('1234'), Decimal('16500'))
    """
    digits = re.sub(r"[' ]", "", digits)
    point = re.search(r"[.,](\d{1,2})$", digits)
    whole = digits[: point.start()] if point else digits
    return Decimal(re.sub(r"\D", "", whole) + (f".{point[1]}" if point else ""))


_MONTHS = {
    name: i + 1
    for i, name in enumerate(["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"])
}
_MONTH = "(?P<{0}>jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_GAP = r"[\s/.,'’-]{0,3}"
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<a>\d{1,4})\s?(?P<sep>[-/.])\s?(?P<b>\d{1,2})\s?(?P=sep)\s?(?P<c>\d{4}|\d{2})(?!\d)",
        rf"(?<!\d)(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{_GAP}{_MONTH.format('month')}{_GAP}(?P<year>\d{{4}}|\d{{2}})(?!\d)",
        r"(?<!\d)(?P<a>(?:19|20)\d\d)(?P<b>[01]\d)(?P<c>[0-3]\d)(?!\d)",
        rf"(?<![a-z]){_MONTH.format('month')}{_GAP}(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{_GAP}(?P<year>\d{{4}}|\d{{2}})(?!\d)",
    )
)


def day(value: str) -> frozenset[object] | None:
    """Read a keyed-in date as what it means under each convention; nothing if it is not one.

    >>> sorted(day("03/04/20"))
    [('dmy', datetime.date(2020, 4, 3)), ('mdy', datetime.date(2020, 3, 4)), ('ymd', datetime.date(2003, 4, 20))]
    """
    found = [date for date in days(value) if fold(value[: date.start] + value[date.stop :]) == ""]
    return found[0].meaning if found else None


def days(text: str) -> Iterator[Found]:
    """Find every date; two are the same if they mean the same day under one convention."""
    for pattern in _DATES:
        for match in pattern.finditer(text):
            meaning = _meaning(match.groupdict())
            if meaning:
                yield Found(match.start(), match.end(), meaning)


def _meaning(parts: dict[str, str]) -> frozenset[object]:
    if "month" in parts:
        month = str(_MONTHS[parts["month"].lower()])
        return frozenset((c, d) for c in ("dmy", "mdy", "ymd") if (d := _date(parts["year"], month, parts["day"])))
    a, b, c = parts["a"], parts["b"], parts["c"]
    if len(a) > 2:
        return frozenset((k, d) for k in ("dmy", "mdy", "ymd") if (d := _date(a, b, c)))
    orders = {"dmy": (c, b, a), "mdy": (c, a, b), "ymd": (a, b, c)}
    return frozenset((k, d) for k, order in orders.items() if (d := _date(*order)))


def _date(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year) + (2000 if len(year) <= 2 else 0), int(month), int(day))
    except ValueError:
        return None
