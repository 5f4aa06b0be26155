"""Comparison of an extracted value with an entered one, and whether a document's words can match it at all."""

from collections.abc import Iterator, Sequence

from formnet.document.document import Document
from formnet.document.values.parse import MAX_PARSED_LENGTH, fold, parse_amount, parse_date, parse_number


def values_match(gold: str, predicted: str) -> bool:
    """Return whether two values are the same date, the same amount or the same letters and digits.

    >>> values_match("9.00", "RM 9.00"), values_match("2018-03-25", "25/03/2018"), values_match("9.00", "900")
    (True, True, False)
    """
    if (gold_dates := parse_date(gold)) and (predicted_dates := parse_date(predicted)):
        return bool(gold_dates & predicted_dates)
    if parse_amount(gold) or parse_amount(predicted):
        return bool((parse_number(gold) or frozenset()) & (parse_number(predicted) or frozenset()))
    return not gold_dates and fold(gold) == fold(predicted) != ""


def values_nearly_match(gold: str, predicted: str) -> bool:
    """Return whether two values match, or their letters and digits do except for one.

    >>> values_nearly_match("99 SPEED MART S/B", "99 Speed Mart 5/B"), values_nearly_match("9.00", "9.1")
    (True, False)
    """
    if values_match(gold, predicted):
        return True
    a, b = fold(gold), fold(predicted)
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    changed, added, dropped = (a[same + 1 :], b[same + 1 :]), (a[same:], b[same + 1 :]), (a[same + 1 :], b[same:])
    return bool(a and b) and any(x == y for x, y in (changed, added, dropped))


def is_attainable(document: Document, value: str) -> bool:
    """Return whether any consecutive words of a page match the value: no model can extract it otherwise."""
    return any(values_match(value, text) for page in document.pages for text in _candidates(page.texts, value))


def _candidates(texts: Sequence[str], value: str) -> Iterator[str]:
    """Yield the texts of all consecutive words that may match the value."""
    folded = fold(value)
    is_parsed = bool(parse_date(value) or parse_number(value))
    for start in range(len(texts)):
        prefix = ""
        for stop in range(start + 1, len(texts) + 1):
            prefix += fold(texts[stop - 1])
            if not folded.startswith(prefix):
                break
            if prefix == folded:
                yield " ".join(texts[start:stop])
        if is_parsed:
            yield from _short_runs(texts[start:])


def _short_runs(texts: Sequence[str]) -> Iterator[str]:
    """Yield the first word, the first two words and so on, as long as the text may be a date or an amount."""
    run = ""
    for text in texts:
        run = f"{run} {text}" if run else text
        if len(run) > MAX_PARSED_LENGTH:
            return
        if any(character.isdigit() for character in run):
            yield run
