"""Reading values: text folded to what matters, amounts as decimals, dates under each convention."""

import re
import unicodedata
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from formnet.document.values.months import MONTH, MONTHS

#: No amount or date is longer; longer values are only ever text.
LONGEST_FIGURE = 40

Meaning = frozenset[object]


@lru_cache(maxsize=65536)
def fold(text: str) -> str:
    """Keep letters and digits only, in one case and without accents.

    >>> fold("Café Zoë (№ 12)")
    'cafezoeno12'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if c.isalnum())


class Found(NamedTuple):
    """Something with a meaning (or several that are possible), and where in the text it stands."""

    start: int
    stop: int
    meaning: Meaning


#: Signs that are printed in several ways, each for the one that is read here.
PLAIN = str.maketrans("−–—’", "---'")
_NUMBER = r"\d+(?:[.,']\d+)*"
#: A number by itself: no part of a date, a time or an identifier (03/04, 12:30, INV-12, 12-B).
_WORDWISE = re.compile(rf"(?<![\d.,/:])(?<!\w-)(?P<number>{_NUMBER}|(?<!\w)\.\d\d?)(?!\d|[.,]\d|[/:-]\w)")
_SPACED = re.compile(r"(?<![\d.,])(?P<number>\d{1,3}(?: \d{3})+(?:[.,]\d{1,2})?)(?!\d|[.,]\d)")
_SHARE = re.compile(r"\s*%")
#: What is printed beside an amount → its currency. A mark that several share is the one most often meant.
CURRENCIES = {
    "$": "USD", "us$": "USD", "s$": "SGD", "a$": "AUD", "c$": "CAD", "hk$": "HKD", "nt$": "TWD", "r$": "BRL",
    "€": "EUR", "£": "GBP", "¥": "JPY", "￥": "JPY", "₹": "INR", "rs": "INR", "rs.": "INR", "₽": "RUB", "₩": "KRW",
    "฿": "THB", "₫": "VND", "₱": "PHP", "₺": "TRY", "zł": "PLN", "rm": "MYR", "rp": "IDR", "rp.": "IDR", "rmb": "CNY",
    "円": "JPY", "元": "CNY", "원": "KRW", "đ": "VND",
    **{code.lower(): code for code in (
        "AED", "AUD", "BHD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD", "HUF", "IDR", "INR", "JOD",
        "JPY", "KRW", "KWD", "MXN", "MYR", "NOK", "NZD", "OMR", "PHP", "PLN", "RUB", "SAR", "SEK", "SGD", "THB", "TND",
        "TWD", "USD", "VND", "ZAR",
    )},
}  # fmt: skip
_CURRENCY = "|".join(map(re.escape, sorted(CURRENCIES, key=len, reverse=True)))
_WHOLE = re.compile(
    rf"(?P<minus>[-(] ?|CR ?)?(?:(?P<before>{_CURRENCY}) ?(?:[$€£¥] ?)?)?(?P<minus2>[-(] ?)?"
    rf"(?P<number>{_NUMBER}|\.\d\d?)"
    rf"(?P<minus3>-)?(?: ?(?P<after>{_CURRENCY}))?(?P<minus4>-| ?CR)?\)?",
    re.IGNORECASE,
)
_MINUS_BEFORE = re.compile(rf"[-(](?:(?:{_CURRENCY}) ?)?$", re.IGNORECASE)
_MINUS_AFTER = re.compile(r"-(?!\w)")


class Figure(NamedTuple):
    """A number as printed, and what is printed around it."""

    number: str
    negative: bool
    currency: str | None


def figure(value: str) -> Figure | None:
    """Take an amount apart; nothing if the text is anything else.

    >>> figure("(RM 1,234.50)")
    Figure(number='1,234.50', negative=True, currency='MYR')
    """
    match = _WHOLE.fullmatch(" ".join(value.translate(PLAIN).split())) if len(value) <= LONGEST_FIGURE else None
    if not match:
        return None
    negative = any(match[minus] for minus in ("minus", "minus2", "minus3", "minus4"))
    return Figure(match["number"], negative, CURRENCIES.get((match["before"] or match["after"] or "").casefold()))


def amount(value: str) -> Meaning | None:
    """Read a keyed-in amount; nothing if it is not clearly one (a bare whole number may count anything).

    >>> amount("RM 9.00") == amount("$9"), amount("9"), amount("12 Main Street")
    (True, None, None)
    """
    read = figure(value)
    sure = read and (read.currency or re.search(r"[.,]\d{1,2}$", read.number))
    return number(value) if sure else None


def number(value: str) -> Meaning | None:
    """Read a keyed-in number, whatever it counts."""
    read = figure(value)
    return _signed(read.number, negative=read.negative) if read else None


def amounts(text: str, *, loose: bool = False) -> Iterator[Found]:
    """Find every number that could be an amount; loosely, also spaced for thousands, of either sign, or a share."""
    text = text.translate(PLAIN)
    for match in (_SPACED if loose else _WORDWISE).finditer(text):
        if loose or not _SHARE.match(text, match.end()):
            before = text[max(match.start() - 6, 0) : match.start()]
            negative = not loose and bool(_MINUS_BEFORE.search(before) or _MINUS_AFTER.match(text, match.end()))
            yield Found(match.start(), match.end(), _signed(match["number"], negative=negative))
    if loose:
        for match in _WORDWISE.finditer(text):
            yield Found(match.start(), match.end(), _signed(match["number"], negative=False))


def readings(digits: str) -> frozenset[Decimal]:
    """Read digits with points and commas in every way that they can be meant.

    >>> sorted(readings("1,234.50")), sorted(readings("0.125")), sorted(readings("16.500"))
    ([Decimal('1234.50')], [Decimal('0.125')], [Decimal('16.500'), Decimal('16500')])
    """
    *groups, last = re.split(r"[ .,']", digits)
    separators = re.findall(r"[ .,']", digits)
    whole = Decimal("".join([*groups, last]))
    if not groups:
        return frozenset({whole})
    thousands = all(len(group) == 3 for group in [*groups[1:], last]) and len(groups[0]) <= 3 and groups[0] != "0"
    point = separators[-1] in ".," and separators.count(separators[-1]) == 1
    pointed = Decimal(f"{''.join(groups)}.{last}")
    if thousands and point and len(set(separators)) == 1:
        return frozenset({whole, pointed})
    return frozenset({whole if thousands and not point else pointed})


def _signed(digits: str, *, negative: bool) -> Meaning:
    return frozenset(-value if negative else value for value in readings(digits))


_GAP = r"[\s/.,'-]"
_OF = rf"(?:\s(?:of|de|di)\s|{_GAP}{{0,3}})"  # 1st of March, 4 de marzo de 2019
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>\d{4}|\d{2})(?![\d:])"
_TIME = r"(?:\d{1,2}:\d{2}(?::\d{2})?\s)?"  # as in Sep 5 23:59:59 2019
_DATES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<!\d)(?P<a>\d{1,2})\s?(?P<sep>[-/.])\s?(?P<b>\d{1,2})\s?(?P=sep)\s?'?(?P<c>\d{4}|\d{2})(?!\d)",
        r"(?<!\d)(?P<y>\d{4})\s?(?P<sep>[-/.])\s?(?P<m>\d{1,2})\s?(?P=sep)\s?(?P<d>\d{1,2})(?!\d)",
        r"(?<!\d)(?P<y>\d{4})\s?年\s?(?P<m>\d{1,2})\s?月\s?(?P<d>\d{1,2})\s?日",
        r"(?<!\d)(?P<y>(?:19|20)\d\d)(?P<m>[01]\d)(?P<d>[0-3]\d)(?!\d)",
        rf"(?<!\d){_DAY}{_OF}{MONTH}{_OF}{_YEAR}",
        rf"(?<![a-z]){MONTH}{_GAP}{{0,3}}{_DAY}{_GAP}{{1,3}}{_TIME}{_YEAR}",
        rf"(?<!\d)(?P<year>\d{{4}}){_GAP}{{1,3}}{MONTH}{_GAP}{{1,3}}(?P<day>\d{{1,2}})(?!\d)",
    )
)
#: Years that are counted from the Buddha, as in Thailand.
_BUDDHIST, _AHEAD = range(2400, 2644), 543
_CONVENTIONS = ("dmy", "mdy", "ymd")


def day(value: str) -> Meaning | None:
    """Read a keyed-in date as what it means under each convention; nothing if it is not one.

    >>> day("13/04/2020") == frozenset({("dmy", date(2020, 4, 13))})
    True
    """
    if len(value) > LONGEST_FIGURE:
        return None
    found = [item for item in days(value) if fold(value[: item.start] + value[item.stop :]) == ""]
    return found[0].meaning if found else None


def days(text: str) -> Iterator[Found]:
    """Find every date; two are the same if they can mean the same day under one convention."""
    text = text.translate(PLAIN)
    for pattern in _DATES:
        for match in pattern.finditer(text):
            meaning = frozenset(_meanings(match.groupdict()))
            if meaning:
                yield Found(match.start(), match.end(), meaning)


def _meanings(parts: dict[str, str]) -> Iterator[tuple[str, date]]:
    for convention in _CONVENTIONS:
        if "month" in parts:
            month = str(MONTHS[parts["month"].casefold()])
            year, day = parts["year"], parts["day"]
        elif "y" in parts:
            year, month, day = parts["y"], parts["m"], parts["d"]
        else:
            place = dict(zip(convention, (parts["a"], parts["b"], parts["c"]), strict=True))
            year, month, day = place["y"], place["m"], place["d"]
        # A year of two digits may be of either century.
        for full_year in (year,) if len(year) == 4 else (f"20{year:0>2}", f"19{year:0>2}"):
            known = int(full_year) - (_AHEAD if int(full_year) in _BUDDHIST else 0)
            try:
                yield convention, date(known, int(month), int(day))
            except ValueError:
                continue
