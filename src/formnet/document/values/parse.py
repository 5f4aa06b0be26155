"""Parse printed text: fold it for comparison, read amounts as decimals and dates under each convention."""

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import date
from decimal import Decimal
from functools import lru_cache, wraps
from typing import NamedTuple, TypeVar

from formnet.document.values.months import MONTH, MONTHS

#: Maximum characters in an amount or date; longer values are plain text.
MAX_PARSED_LENGTH = 40

T = TypeVar("T")
Interpretations = frozenset[object]  # possible values of an ambiguous text


def _cache_short(function: Callable[[str], T]) -> Callable[[str], T]:
    """Cache results for texts that can be amounts or dates; longer ones could fill the memory."""
    cached = lru_cache(maxsize=65536)(function)

    @wraps(function)
    def wrapper(text: str) -> T:
        return cached(text) if len(text) <= MAX_PARSED_LENGTH else function(text)

    return wrapper


@_cache_short
def fold(text: str) -> str:
    """Return only the letters and digits of a text, case-folded and without accents.

    >>> fold("Café Zoë (№ 12)")
    'cafezoeno12'
    """
    return "".join(c for c in unicodedata.normalize("NFKD", text).casefold() if c.isalnum())


class ValueMatch(NamedTuple):
    """An amount or date found in a text: its position and possible values."""

    start: int
    stop: int
    interpretations: Interpretations


#: Translation table from typographic dashes and apostrophes to ASCII.
PUNCTUATION = str.maketrans("−–—’", "---'")
_NUMBER = r"\d+(?:[.,']\d+)*"
#: A standalone number, not part of a date, time or identifier (03/04, 12:30, INV-12, 12-B).
_STANDALONE = re.compile(rf"(?<![\d.,/:])(?<!\w-)(?P<number>{_NUMBER}|(?<!\w)\.\d\d?)(?!\d|[.,]\d|[/:-]\w)")
_SPACED = re.compile(r"(?<![\d.,])(?P<number>\d{1,3}(?: \d{3})+(?:[.,]\d{1,2})?)(?!\d|[.,]\d)")
_PERCENT = re.compile(r"\s*%")
#: Currency symbols and codes → ISO 4217 code; an ambiguous symbol maps to its most common currency.
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
_AMOUNT = re.compile(
    rf"(?P<minus>[-(] ?|CR ?)?(?:(?P<before>{_CURRENCY}) ?(?:[$€£¥] ?)?)?(?P<minus2>[-(] ?)?"
    rf"(?P<number>{_NUMBER}|\.\d\d?)"
    rf"(?P<minus3>-)?(?: ?(?P<after>{_CURRENCY}))?(?P<minus4>-| ?CR)?\)?",
    re.IGNORECASE,
)
_MINUS_BEFORE = re.compile(rf"[-(](?:(?:{_CURRENCY}) ?)?$", re.IGNORECASE)
_MINUS_AFTER = re.compile(r"-(?!\w)")


class AmountParts(NamedTuple):
    """A printed amount split into number, sign and currency."""

    number: str
    negative: bool
    currency: str | None


@_cache_short
def split_amount(value: str) -> AmountParts | None:
    """Split an amount into number, sign and currency; return None if the text is not an amount.

    >>> split_amount("(RM 1,234.50)")
    AmountParts(number='1,234.50', negative=True, currency='MYR')
    """
    if len(value) > MAX_PARSED_LENGTH:
        return None
    match = _AMOUNT.fullmatch(" ".join(value.translate(PUNCTUATION).split()))
    if not match:
        return None
    negative = any(match[minus] for minus in ("minus", "minus2", "minus3", "minus4"))
    return AmountParts(match["number"], negative, CURRENCIES.get((match["before"] or match["after"] or "").casefold()))


@_cache_short
def parse_amount(value: str) -> Interpretations | None:
    """Parse an amount; return None for other text and for bare integers, which may be any quantity.

    >>> parse_amount("RM 9.00") == parse_amount("$9"), parse_amount("9"), parse_amount("12 Main Street")
    (True, None, None)
    """
    parts = split_amount(value)
    is_amount = parts and (parts.currency or re.search(r"[.,]\d{1,2}$", parts.number))
    return parse_number(value) if is_amount else None


@_cache_short
def parse_number(value: str) -> Interpretations | None:
    """Parse a number of any kind, with or without a currency."""
    parts = split_amount(value)
    return _signed(parts.number, negative=parts.negative) if parts else None


def find_amounts(text: str, *, loose: bool = False) -> Iterator[ValueMatch]:
    """Find all numbers that may be amounts; if loose, ignore signs and accept percentages and spaced thousands."""
    text = text.translate(PUNCTUATION)
    for match in (_SPACED if loose else _STANDALONE).finditer(text):
        if loose or not _PERCENT.match(text, match.end()):
            before = text[max(match.start() - 6, 0) : match.start()]
            negative = not loose and bool(_MINUS_BEFORE.search(before) or _MINUS_AFTER.match(text, match.end()))
            yield ValueMatch(match.start(), match.end(), _signed(match["number"], negative=negative))
    if loose:
        for match in _STANDALONE.finditer(text):
            yield ValueMatch(match.start(), match.end(), _signed(match["number"], negative=False))


def interpret_number(digits: str) -> frozenset[Decimal]:
    """Return all possible values of digits with periods, commas, apostrophes or spaces as separators.

    >>> sorted(interpret_number("1,234.50")), sorted(interpret_number("0.125")), sorted(interpret_number("16.500"))
    ([Decimal('1234.50')], [Decimal('0.125')], [Decimal('16.500'), Decimal('16500')])
    """
    *groups, last = re.split(r"[ .,']", digits)
    separators = re.findall(r"[ .,']", digits)
    integer = Decimal("".join([*groups, last]))
    if not groups:
        return frozenset({integer})
    is_grouped = all(len(group) == 3 for group in [*groups[1:], last]) and len(groups[0]) <= 3 and groups[0] != "0"
    is_decimal = separators[-1] in ".," and separators.count(separators[-1]) == 1
    decimal = Decimal(f"{''.join(groups)}.{last}")
    if is_grouped and is_decimal and len(set(separators)) == 1:
        return frozenset({integer, decimal})
    return frozenset({integer if is_grouped and not is_decimal else decimal})


def _signed(digits: str, *, negative: bool) -> Interpretations:
    return frozenset(-value if negative else value for value in interpret_number(digits))


_GAP = r"[\s/.,'-]"
_OF = rf"(?:\s(?:of|de|di)\s|{_GAP}{{0,3}})"  # 1st of March, 4 de marzo de 2019
_DAY, _YEAR = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?", r"(?P<year>\d{4}|\d{2})(?![\d:])"
_TIME = r"(?:\d{1,2}:\d{2}(?::\d{2})?\s)?"  # Sep 5 23:59:59 2019
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
#: Years read as Buddhist Era (used in Thailand), and their offset from the Gregorian calendar.
_BUDDHIST_YEARS, _BUDDHIST_OFFSET = range(2400, 2644), 543
_CONVENTIONS = ("dmy", "mdy", "ymd")


@_cache_short
def parse_date(value: str) -> Interpretations | None:
    """Parse a date as (convention, date) pairs; return None if the text is not a date.

    >>> parse_date("13/04/2020") == frozenset({("dmy", date(2020, 4, 13))})
    True
    """
    if len(value) > MAX_PARSED_LENGTH:
        return None
    matches = [match for match in find_dates(value) if fold(value[: match.start] + value[match.stop :]) == ""]
    return matches[0].interpretations if matches else None


def find_dates(text: str) -> Iterator[ValueMatch]:
    """Find all dates; two are equal if they can be the same day under the same convention."""
    text = text.translate(PUNCTUATION)
    for pattern in _DATES:
        for match in pattern.finditer(text):
            interpretations = frozenset(_interpret_date(match.groupdict()))
            if interpretations:
                yield ValueMatch(match.start(), match.end(), interpretations)


def _interpret_date(parts: dict[str, str]) -> Iterator[tuple[str, date]]:
    for convention in _CONVENTIONS:
        if "month" in parts:
            month = str(MONTHS[parts["month"].casefold()])
            year, day = parts["year"], parts["day"]
        elif "y" in parts:
            year, month, day = parts["y"], parts["m"], parts["d"]
        else:
            by_letter = dict(zip(convention, (parts["a"], parts["b"], parts["c"]), strict=True))
            year, month, day = by_letter["y"], by_letter["m"], by_letter["d"]
        # A two-digit year may be in either century.
        for full_year in (year,) if len(year) == 4 else (f"20{year:0>2}", f"19{year:0>2}"):
            gregorian = int(full_year) - (_BUDDHIST_OFFSET if int(full_year) in _BUDDHIST_YEARS else 0)
            try:
                yield convention, date(gregorian, int(month), int(day))
            except ValueError:
                continue
