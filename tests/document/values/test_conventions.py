import time

import pytest

from formnet.document.values.conventions import find_currency, infer_day_first


@pytest.mark.parametrize(
    ("text", "currency"),
    [
        ("TOTAL (RM) 37.90", "MYR"),
        ("TOTAL 37.90", None),
        ("$12.00 $3.00 EUR 4.00", "USD"),
        ("Rp 25.000", "IDR"),
        ("12,50 €", "EUR"),
        ("12.50EUR", "EUR"),
        ("Rs. 500", "INR"),
        ("12.00 RM", "MYR"),
        ("PRM 3 rm farm ALL CAPS", None),
        ("KEDAI SDN BHD 12, JALAN 5", None),
        ("KEDAI SDN BHD 12, TOTAL (RM) 37.90", "MYR"),
        ("TOTAL BHD 2.500", "BHD"),
        ("S$12.50 R$ 3,00 S$1.00", "SGD"),
        ("500円", "JPY"),
    ],
)
def test_find_currency_counts_signs_and_codes(text: str, currency: str | None) -> None:
    assert find_currency(text.split()) == currency


@pytest.mark.parametrize(
    ("text", "day_first"),
    [
        ("2/09/19", None),
        ("2/09/19 and 25/12/19", True),
        ("2/09/19 and 12/25/19", False),
        ("12/25/19 25/12/19 25/11/19", True),
        ("Springfield, IL 62701 2/09/19", False),
        ("Call (415) 555-0132 2/09/19", False),
        ("Wilmington, DE 19801-1234 2/09/19", False),
        ("DE 80333 München 2/09/19", None),
        ("Customer ID 12345 2/09/19", None),
        ("Springfield, IL 62701 25/12/19", True),  # a date that can be read in one way only decides
        ("2/09/19 RM 5.00", True),
        ("2/09/19 $5.00", None),
        ("2/09/19 CAD 5.00", None),
        ("4 March 2019", None),
    ],
)
def test_infer_day_first_from_dates_then_addresses_then_currency(text: str, day_first: bool | None) -> None:
    assert infer_day_first(text.split()) is day_first


@pytest.mark.parametrize("words", [["1/1/"] * 20_000, ["$" * 4000] * 5000, ["(" * 40] * 20_000, ["1" * 40] * 20_000])
def test_conventions_cost_is_bounded(words: list[str]) -> None:
    start = time.process_time()
    infer_day_first(words)
    find_currency(words)
    assert time.process_time() - start < 2
