"""What a printed value says: a date as ISO, an amount as a decimal with its currency, an identifier without spaces.

A date such as 03/04/2019 can be read in two ways. It is read month first, as in the United States; day first where
`day_first` says so, where the numbers allow nothing else, or where points stand between them, as in 03.04.2019. Either
way it is marked as ambiguous. A year of two digits is one between 1969 and 2068.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal, cast

from formnet.document.values.parse import PLAIN, day, days, figure, readings

#: No date, amount or identifier is longer.
LONGEST_VALUE = 200

Kind = Literal["date", "amount", "identifier"]

_LAST_YEAR = 2068  # that two digits can mean, as in POSIX
_WITHOUT_CENTS = ("IDR", "JPY", "KRW", "VND")
_WITH_MILS = ("BHD", "JOD", "KWD", "OMR", "TND")  # a thousand to one
#: Words in a label that say what its values are; the first line with one of them counts.
_HINTS: tuple[tuple[Kind | None, frozenset[str]], ...] = (
    (None, frozenset({"cnt", "count", "qty", "quantity"})),
    ("date", frozenset({"birthday", "date", "dated", "day", "dob", "expiry"})),
    ("identifier", frozenset({"code", "iban", "id", "identifier", "no", "nr", "num", "number", "ref", "reference"})),
    ("date", frozenset({"flight"})),  # flight_from, but not flight_number
    ("amount", frozenset({"balance", "cash", "change", "charge", "charges", "cost", "discount", "fee", "tax", "vat"})),
)
_AMOUNT_ENDINGS = ("amount", "price", "sum", "total")

_NO_CENTS = re.compile(r"[.,/] ?[-=]{1,2}$")  # Rp 25.000,- or Rs.500/-
_CLOSED = re.compile(r"^(¥.*\d)-$")  # ¥1,234- leaves no room for another digit
#: A space that OCR saw on one side of the point.
_SPACE_AT_POINT = re.compile(r"(?<=\d)\s(?=[.,]\d\d(?!\d))|(?<=\d[.,])\s(?=\d\d(?!\d))")
_CENTS_ALONE = re.compile(r"^,(?=\d\d$)")
#: What taxes a line bears, on receipts of Malaysia and others.
_TAX_CODE = re.compile(r"(?<=[.,]\d\d)\s?(?:SR|ZRL?|[STZ])$")
_ANOTHER = re.compile(r"\d+(?:[.,]\d+)?(?![\d%])")
_SPACE_FOR_THOUSANDS = re.compile(r"(?<!\d{4})(?<=\d)\s(?=\d{3}(?!\d))")
_WITH_POINTS = re.compile(r"\d\s?\.\s?\d{1,2}\s?\.\s?\d")
_EDGES = " \t:;=*#@[]"
_GROUPED = re.compile(
    r"\d+(?:[.,]\d+)?|\.\d+"  # 1234.50, .50
    r"|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,3}(?:\.\d{3})+(?:,\d+)?|\d{1,3}(?:'\d{3})+(?:[.,]\d+)?"  # 1,234.50
    r"|(?P<indian>\d{1,2}(?:,\d{2})+,\d{3}(?:\.\d+)?)"  # 1,23,456.50
)


@dataclass(frozen=True, slots=True)
class Value:
    """What a text says, written in one way however it was printed."""

    kind: Kind
    value: str
    currency: str | None = None
    ambiguous: bool = False

    def to_json(self) -> dict[str, Any]:
        """Give the value as plain data; what is not known is left out."""
        json: dict[str, Any] = {"kind": self.kind, "value": self.value}
        if self.currency is not None:
            json["currency"] = self.currency
        if self.ambiguous:
            json["ambiguous"] = True
        return json


def normalize(text: str, label: str = "", *, day_first: bool | None = None) -> Value | None:
    """Read a value; nothing if it is only text. A label that says what it is (`total`, `due_date`) helps.

    >>> normalize("$1,234.50").to_json()
    {'kind': 'amount', 'value': '1234.50', 'currency': 'USD'}
    >>> normalize("4 March 2019"), normalize("25.000", "total").value, normalize("ab 12-x", "contract_num").value
    (Value(kind='date', value='2019-03-04', currency=None, ambiguous=False), '25000', 'AB12-X')
    """
    if len(text) > LONGEST_VALUE:
        return None
    text = unicodedata.normalize("NFKC", text).translate(PLAIN).strip().strip(_EDGES).rstrip(f"{_EDGES},")
    hint = kind_of(label)
    if hint == "identifier":
        return _identifier(text)
    if hint == "amount":
        return _amount(text, sure=True) or _date(text, day_first) or _last_amount(text)
    return _date(text, day_first, anywhere=hint == "date") or _amount(text)


def kind_of(label: str) -> Kind | None:
    """Tell from a label's words what its values are.

    >>> kind_of("total.cashprice"), kind_of("flight_from"), kind_of("invoiceNumber"), kind_of("company")
    ('amount', 'date', 'identifier', None)
    """
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", label[:LONGEST_VALUE])]
    for kind, hints in _HINTS:
        if not hints.isdisjoint(words):
            return kind
    return "amount" if any(word.endswith(_AMOUNT_ENDINGS) for word in words) else None


def _date(text: str, day_first: bool | None, *, anywhere: bool = False) -> Value | None:
    """Read a date; anywhere in the text if a label promises one, and only one is there."""
    meaning = day(text)
    if meaning is None and anywhere:
        found = list(days(text))
        meaning = found[0].meaning if len(found) == 1 else None
    if meaning is None:
        return None
    by_convention: dict[str, date] = {}
    for convention, read in sorted(cast(frozenset[tuple[str, date]], meaning)):
        # The later century wins as long as it is not too late.
        if convention not in by_convention or read.year <= _LAST_YEAR:
            by_convention[convention] = read
    if day_first is None:
        day_first = bool(_WITH_POINTS.search(text))
    order = ("dmy", "mdy", "ymd") if day_first else ("mdy", "dmy", "ymd")
    possible = [by_convention[convention] for convention in order if convention in by_convention]
    ambiguous = len({by_convention[c] for c in ("dmy", "mdy") if c in by_convention}) > 1
    return Value("date", possible[0].isoformat(), ambiguous=ambiguous)


def _amount(text: str, *, sure: bool = False) -> Value | None:
    """Read an amount; a bare whole number only if a label says that it is one."""
    plain = _TAX_CODE.sub("", _NO_CENTS.sub("", _CLOSED.sub(r"\1", _CENTS_ALONE.sub(".", text))))
    joined = _SPACE_FOR_THOUSANDS.sub("", _SPACE_AT_POINT.sub("", plain))
    read = figure(joined.removeprefix("+"))
    grouped = _GROUPED.fullmatch(read.number) if read else None
    if read is None or grouped is None or not (sure or read.currency or not read.number.isdigit()):
        return None
    possible = {Decimal(read.number.replace(",", ""))} if grouped["indian"] else readings(read.number)
    # Money has two decimals or none: where there are three digits, they are thousands.
    size = max(possible)
    doubtful = len(possible) > 1 and "." in read.number and read.currency not in _WITHOUT_CENTS
    if read.currency in _WITH_MILS and len(possible) > 1:
        size, doubtful = min(possible), False
    # Who puts spaces between thousands puts a comma before cents: 3 150.00 may be three at a price.
    doubtful = doubtful or ("." in read.number and _SPACE_FOR_THOUSANDS.search(plain) is not None)
    return Value("amount", f"{-size if read.negative and size else size:f}", read.currency, doubtful)


def _last_amount(text: str) -> Value | None:
    """Read the amount that a text ends with: some people's labels take in the words before it, TOTAL Rp. 60.000."""
    words = _SPACE_AT_POINT.sub("", text).split()
    for last in (words[-2:], words[-1:]):
        if found := _amount(" ".join(last), sure=True):
            others = _ANOTHER.findall(" ".join(words[: -len(last)]))
            # 4.50 x 3 and $5 - $10 end with an amount, too, but are none.
            mixed = others and (last[-1].isdigit() or last[0] == "-" or any(re.search(r"[.,]", one) for one in others))
            return None if mixed else found
    return None


def _identifier(text: str) -> Value | None:
    value = "".join(text.split()).upper()
    return Value("identifier", value) if any(c.isalnum() for c in value) else None
