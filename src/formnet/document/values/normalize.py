"""Normalize printed values: dates to ISO 8601, amounts to decimals with a currency, identifiers without spaces.

Unless `day_first` is given, an ambiguous date such as 03/04/2019 is read month first, as in the United States, or day
first if its separators are periods, as in 03.04.2019. In all cases it is marked as ambiguous. Two-digit years are read
as years between 1969 and 2068.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Literal, cast

from formnet.document.values.parse import PUNCTUATION, find_dates, interpret_number, parse_date, split_amount

#: Maximum characters in a date, amount or identifier.
MAX_VALUE_LENGTH = 200

Kind = Literal["date", "amount", "identifier", "quantity", "time"]

_LAST_TWO_DIGIT_YEAR = 2068  # as in POSIX
_ZERO_DECIMAL_CURRENCIES = ("IDR", "JPY", "KRW", "VND")
_THREE_DECIMAL_CURRENCIES = ("BHD", "JOD", "KWD", "OMR", "TND")
#: Words in a label that indicate the kind of its values; the first matching row applies.
_HINTS: tuple[tuple[Kind | None, frozenset[str]], ...] = (
    (None, frozenset({"cnt", "count", "qty", "quantity"})),
    ("date", frozenset({"birthday", "date", "dated", "day", "dob", "expiry"})),
    ("identifier", frozenset({"code", "iban", "id", "identifier", "no", "nr", "num", "number", "ref", "reference"})),
    ("date", frozenset({"flight"})),  # flight_from, but not flight_number
    ("amount", frozenset({"balance", "cash", "change", "charge", "charges", "cost", "discount", "fee", "tax", "vat"})),
)
_AMOUNT_ENDINGS = ("amount", "price", "sum", "total")

_NO_CENTS = re.compile(r"[.,/] ?[-=]{1,2}$")  # Rp 25.000,- or Rs.500/-
_YEN_END_MARK = re.compile(r"^(¥.*\d)-$")  # ¥1,234-, where the dash marks the end of the number
#: A space next to the decimal separator, inserted by OCR.
_SPACE_AT_SEPARATOR = re.compile(r"(?<=\d)\s(?=[.,]\d\d(?!\d))|(?<=\d[.,])\s(?=\d\d(?!\d))")
_LEADING_COMMA = re.compile(r"^,(?=\d\d$)")
#: Tax codes after an amount, as on Malaysian receipts.
_TAX_CODE = re.compile(r"(?<=[.,]\d\d)\s?(?:SR|ZRL?|[STZ])$")
_OTHER_NUMBER = re.compile(r"\d+(?:[.,]\d+)?(?![\d%])")
_THOUSANDS_SPACE = re.compile(r"(?<!\d{4})(?<=\d)\s(?=\d{3}(?!\d))")
_PERIOD_SEPARATED = re.compile(r"\d\s?\.\s?\d{1,2}\s?\.\s?\d")
_EDGES = " \t:;=*#@[]"
_GROUPED = re.compile(
    r"\d+(?:[.,]\d+)?|\.\d+"  # 1234.50, .50
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d{1,3}(?:'\d{3})+(?:[.,]\d+)?"  # 1,234.50
    r"|(?P<indian>\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?)"  # 1,23,456.50
)


@dataclass(frozen=True, slots=True)
class Value:
    """A normalized value: an ISO date, a decimal amount, or an identifier without spaces."""

    kind: Kind
    value: str
    currency: str | None = None
    ambiguous: bool = False  # whether the text can be read in another way, as 03/04/2019 can


def normalize(text: str, label: str = "", *, day_first: bool | None = None) -> Value | None:
    """Normalize a value, using its label (`total`, `due_date`) as a hint; return None for plain text.

    >>> normalize("$1,234.50")
    Value(kind='amount', value='1234.50', currency='USD', ambiguous=False)
    >>> normalize("4 March 2019"), normalize("25.000", "total").value, normalize("ab 12-x", "contract_num").value
    (Value(kind='date', value='2019-03-04', currency=None, ambiguous=False), '25000', 'AB12-X')
    """
    if len(text) > MAX_VALUE_LENGTH:
        return None
    text = _clean(text)
    hint = infer_kind(label)
    if hint == "identifier":
        return _identifier(text)
    if hint == "amount":
        return _amount(text, allow_integer=True) or _date(text, day_first) or _last_amount(text)
    return _date(text, day_first, anywhere=hint == "date") or _amount(text)


def _clean(text: str) -> str:
    """Return the text in compatibility characters, without the punctuation around it."""
    return unicodedata.normalize("NFKC", text).translate(PUNCTUATION).strip().strip(_EDGES).rstrip(f"{_EDGES},")


def normalize_as(text: str, kind: Kind, *, day_first: bool | None = None) -> Value | None:
    """Normalize a value of a known kind; return None if it cannot be read as one.

    >>> [normalize_as(*pair).value for pair in (("x 2", "quantity"), ("9:05:59P", "time"), ("25.000", "amount"))]
    ['2', '21:05:59', '25000']
    """
    if len(text) > MAX_VALUE_LENGTH:
        return None
    text = _clean(text)
    if kind == "amount":
        return _amount(text, allow_integer=True) or _last_amount(text)
    if kind == "date":
        return _date(text, day_first, anywhere=True)
    return {"identifier": _identifier, "quantity": _quantity, "time": _time}[kind](text)


_QUANTITY = re.compile(r"[x×@]?\s*(?P<number>-?\d{1,6}(?:[.,]\d{1,3})?)\s*(?:[x×@]|[a-z]{1,5}\.?)?", re.IGNORECASE)
_THOUSANDS = re.compile(r"-?[1-9]\d{0,2}[.,]\d{3}")
_TIME = re.compile(
    r"(?<![\d:])(?P<hour>\d{1,2})[:.](?P<minute>\d\d)(?:[:.](?P<second>\d\d))?\s*(?:(?P<half>[ap])(?:\.?m)?\b)?",
    re.IGNORECASE,
)


def _quantity(text: str) -> Value | None:
    """Normalize a number of pieces or a weight: 2, x2, -1, 2 pcs, 0,350 kg; 1,250 kg may be 1.25 or 1250."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        return None
    number = Decimal(match["number"].replace(",", "."))
    return Value("quantity", f"{number.normalize():f}", ambiguous=_THOUSANDS.fullmatch(match["number"]) is not None)


def _time(text: str) -> Value | None:
    """Normalize the only time of day in a text."""
    found = {_to_time(match) for match in _TIME.finditer(text)} - {None}
    return Value("time", found.pop() or "") if len(found) == 1 else None


def _to_time(match: re.Match[str]) -> str | None:
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if match["half"]:
        hour = hour % 12 + (12 if match["half"].lower() == "p" else 0)
    return f"{hour:02}:{minute:02}:{second:02}" if hour < 24 and minute < 60 and second < 60 else None


def infer_kind(label: str) -> Kind | None:
    """Infer the kind of a label's values from its words.

    >>> infer_kind("total.cashprice"), infer_kind("flight_from"), infer_kind("invoiceNumber"), infer_kind("company")
    ('amount', 'date', 'identifier', None)
    """
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", label[:MAX_VALUE_LENGTH])]
    for kind, hints in _HINTS:
        if not hints.isdisjoint(words):
            return kind
    return "amount" if any(word.endswith(_AMOUNT_ENDINGS) for word in words) else None


def _date(text: str, day_first: bool | None, *, anywhere: bool = False) -> Value | None:
    """Normalize a date; if `anywhere`, the date may be part of a longer text that contains no other."""
    interpretations = parse_date(text)
    if interpretations is None and anywhere:
        matches = list(find_dates(text))
        interpretations = matches[0].interpretations if len(matches) == 1 else None
    if interpretations is None:
        return None
    by_convention: dict[str, date] = {}
    for convention, candidate in sorted(cast(frozenset[tuple[str, date]], interpretations)):
        # Candidates are in ascending order: the later century wins unless it is after the last two-digit year.
        if convention not in by_convention or candidate.year <= _LAST_TWO_DIGIT_YEAR:
            by_convention[convention] = candidate
    if day_first is None:
        day_first = bool(_PERIOD_SEPARATED.search(text))
    order = ("dmy", "mdy", "ymd") if day_first else ("mdy", "dmy", "ymd")
    possible = [by_convention[convention] for convention in order if convention in by_convention]
    ambiguous = len({by_convention[c] for c in ("dmy", "mdy") if c in by_convention}) > 1
    return Value("date", possible[0].isoformat(), ambiguous=ambiguous)


def _amount(text: str, *, allow_integer: bool = False) -> Value | None:
    """Normalize an amount; a bare integer is one only if `allow_integer`."""
    plain = _TAX_CODE.sub("", _NO_CENTS.sub("", _YEN_END_MARK.sub(r"\1", _LEADING_COMMA.sub(".", text))))
    joined = _THOUSANDS_SPACE.sub("", _SPACE_AT_SEPARATOR.sub("", plain))
    parts = split_amount(joined.removeprefix("+"))
    grouped = _GROUPED.fullmatch(parts.number) if parts else None
    if parts is None or grouped is None or not (allow_integer or parts.currency or not parts.number.isdigit()):
        return None
    possible = {Decimal(parts.number.replace(",", ""))} if grouped["indian"] else interpret_number(parts.number)
    # Most currencies have two decimals or none, so a group of three digits is thousands.
    value = max(possible)
    ambiguous = len(possible) > 1 and "." in parts.number and parts.currency not in _ZERO_DECIMAL_CURRENCIES
    if parts.currency in _THREE_DECIMAL_CURRENCIES and len(possible) > 1:
        value, ambiguous = min(possible), False
    # Spaced thousands normally go with a decimal comma: 3 150.00 may be a quantity and a price.
    ambiguous = ambiguous or ("." in parts.number and _THOUSANDS_SPACE.search(plain) is not None)
    return Value("amount", f"{-value if parts.negative and value else value:f}", parts.currency, ambiguous)


def _last_amount(text: str) -> Value | None:
    """Normalize the amount at the end of a text, as in TOTAL Rp. 60.000, where the label includes the words before."""
    words = _SPACE_AT_SEPARATOR.sub("", text).split()
    for last in (words[-2:], words[-1:]):
        if value := _amount(" ".join(last), allow_integer=True):
            others = _OTHER_NUMBER.findall(" ".join(words[: -len(last)]))
            # 4.50 x 3 and $5 - $10 end with an amount but are not amounts.
            mixed = others and (
                last[-1].isdigit() or last[0] == "-" or any(re.search(r"[.,]", other) for other in others)
            )
            return None if mixed else value
    return None


_NUMBER_SIGN = re.compile(r"(?:n°|n[or][.:])[.:]?\s*(?=\S*\d\S*$)", re.IGNORECASE)


def without_number_sign(text: str) -> str:
    """Return a number without the sign before it.

    >>> [without_number_sign(text) for text in ("N° 5620", "No. A-5620", "No. 12, Elm Street")]
    ['5620', 'A-5620', 'No. 12, Elm Street']
    """
    sign = _NUMBER_SIGN.match(text)
    return text[sign.end() :] if sign else text


def _identifier(text: str) -> Value | None:
    """Normalize an identifier: capitals without blanks, and without a number sign."""
    value = "".join(without_number_sign(text).split()).upper()
    return Value("identifier", value) if any(c.isalnum() for c in value) else None
