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
    **{
        printed: code
        for sign, code in CURRENCIES.items()
        if not (sign.isascii() and sign.isalpha())
        for printed in (sign, sign.upper())
    },
    "RM": "MYR",
    "Rp": "IDR",
    "RP": "IDR",
    "Rs": "INR",
    "RMB": "CNY",
    "zł": "PLN",
}
_SIGNS = "|".join(map(re.escape, sorted(_PRINTED, key=len, reverse=True)))
_ATTACHED = re.compile(rf"^\(?(?P<before>{_SIGNS})\.?\d|\d(?P<after>{_SIGNS})[).]*$")
_ALONE = re.compile(rf"(?P<open>\()?(?P<sign>{_SIGNS})[).:]*")
_NUMBER = re.compile(r"-?\d[\d.,']*")
_AMOUNT = re.compile(r"-?\d[\d.,']*[.,]\d{2,3}")
#: States by the first digit of their ZIP codes, or first digits where the abbreviation is also that of a country.
_STATES = {
    "0": "CT MA ME NH NJ RI VT",
    "1": "NY PA",
    "19[789]": "DE",
    "2": "DC MD NC SC VA WV",
    "3": "AL FL GA MS TN",
    "4": "IN KY MI OH",
    "5": "IA MN MT ND SD WI",
    "6": "IL KS MO NE",
    "7": "AR LA OK TX",
    "8": "AZ CO ID NM NV UT WY",
    "9": "AK CA HI OR WA",
}
_STATES_AND_ZIPS = "|".join(f"(?:{names.replace(' ', '|')})[., ]+(?={zips})" for zips, names in _STATES.items())
_US_ADDRESS = re.compile(rf"\b(?:{_STATES_AND_ZIPS})\d{{5}}(?:-\d{{4}})?\b")
_US_PHONE = re.compile(r"(?<!\d)\(?[2-9]\d\d\)?[ .-]{1,2}[2-9]\d\d[.-]\d{4}(?!\d)")
#: Currencies of countries that write the day first. A dollar sign tells nothing: receipts in Malaysia print it, too.
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
    words = texts[:MAX_WORDS]
    for number, text in enumerate(words):
        if len(text) > MAX_PARSED_LENGTH:
            continue
        if match := _ATTACHED.search(text):
            counts[_PRINTED[match["before"] or match["after"]]] += 1
        elif (match := _ALONE.fullmatch(text)) and (match["open"] or _is_next_to_amount(words, number, match["sign"])):
            counts[_PRINTED[match["sign"]]] += 1
    return counts.most_common(1)[0][0] if counts else None


def _is_next_to_amount(words: Sequence[str], number: int, sign: str) -> bool:
    """Return whether a number is next to a sign, or an amount with cents to a code, as BHD may be a word."""
    pattern = _AMOUNT if sign in CURRENCIES.values() else _NUMBER
    neighbors = (*words[max(number - 1, 0) : number], *words[number + 1 : number + 2])
    return any(pattern.fullmatch(word) for word in neighbors)


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
    return True if find_currency(texts) in _DAY_FIRST_CURRENCIES else None
