"""What a document says about all of its values: the currency of amounts, and the order of day and month."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import cast

from formnet.document.values.parse import CURRENCIES, MAX_PARSED_LENGTH, find_dates

#: Words and characters of a document that are considered.
MAX_WORDS, MAX_CHARACTERS = 5000, 100_000
#: Codes and signs that are not also common words, as printed: RM, Rp, USD.
_PRINTED = {
    **{code: code for code in CURRENCIES.values()},
    **{sign: code for sign, code in CURRENCIES.items() if not sign.isalpha()},
    "RM": "MYR",
    "Rp": "IDR",
    "RP": "IDR",
    "Rs": "INR",
    "RMB": "CNY",
    "zł": "PLN",
}
_SIGNS = "|".join(map(re.escape, sorted(_PRINTED, key=len, reverse=True)))
#: A currency by itself, perhaps in parentheses, or next to a number.
_CURRENCY = re.compile(rf"(?:\(|\b|^)(?:(?P<alone>{_SIGNS})(?=[).:]*$)|(?P<before>{_SIGNS})\.? ?(?=\d))")
_CURRENCY_AFTER = re.compile(rf"\d ?(?P<after>{_SIGNS})[).]*$")
_STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY DC"
).replace(" ", "|")
_US_ADDRESS = re.compile(rf"\b(?:{_STATES})[., ]+\d{{5}}(?:-\d{{4}})?\b")
_US_PHONE = re.compile(r"(?<!\d)\(?[2-9]\d\d\)?[ .-]{1,2}[2-9]\d\d[.-]\d{4}(?!\d)")
#: Currencies of countries that write the day first, apart from USD, whose users write the month first.
_DAY_FIRST_CURRENCIES = frozenset({
    "AUD", "BRL", "CHF", "DKK", "EUR", "GBP", "IDR", "INR", "MYR", "NOK", "NZD", "PLN", "RUB", "SGD", "THB", "TRY",
    "VND",
})  # fmt: skip


def find_currency(texts: Sequence[str]) -> str | None:
    """Return the currency that a document prints most often, as an ISO 4217 code.

    >>> find_currency("TOTAL (RM) 37.90".split()), find_currency(["Rp.", "25.000"]), find_currency(["rs", "9.00"])
    ('MYR', 'IDR', None)
    """
    counts: Counter[str] = Counter()
    for text in texts[:MAX_WORDS]:
        if len(text) > MAX_PARSED_LENGTH:
            continue
        match = _CURRENCY.search(text) or _CURRENCY_AFTER.search(text)
        if match is not None:
            sign = next(filter(None, match.groupdict().values()))
            counts[_PRINTED[sign]] += 1
    return counts.most_common(1)[0][0] if counts else None


def infer_day_first(texts: Sequence[str]) -> bool | None:
    """Infer whether a document writes the day before the month; None if nothing in it tells.

    Dates that can be read in one way only decide. Otherwise, a US address or phone number does, then the currency.

    >>> infer_day_first("02/03/2024 until 14/03/2024".split()), infer_day_first("Austin TX 78701 2/09/19".split())
    (True, False)
    """
    text = " ".join(texts[:MAX_WORDS])[:MAX_CHARACTERS]
    votes: Counter[str] = Counter()
    for match in find_dates(text):
        conventions = {convention for convention, _ in cast(frozenset[tuple[str, object]], match.interpretations)}
        if len(conventions & {"dmy", "mdy"}) == 1:
            votes.update(conventions)
    if votes["dmy"] != votes["mdy"]:
        return votes["dmy"] > votes["mdy"]
    if _US_ADDRESS.search(text) or _US_PHONE.search(text):
        return False
    currency = find_currency(texts)
    if currency == "USD":
        return False
    return True if currency in _DAY_FIRST_CURRENCIES else None
