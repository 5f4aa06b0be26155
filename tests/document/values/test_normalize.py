import time
from dataclasses import asdict
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formnet.document.values.normalize import MAX_VALUE_LENGTH, Value, infer_kind, normalize, normalize_as


@pytest.mark.parametrize(
    ("printed", "value", "currency"),
    [
        ("$1,234.50", "1234.50", "USD"),
        ("1.234,50 €", "1234.50", "EUR"),
        ("1 234,50 EUR", "1234.50", "EUR"),
        ("CHF 1'234.50", "1234.50", "CHF"),
        ("CHF 1’234.50", "1234.50", "CHF"),
        ("CAD $12.00", "12.00", "CAD"),
        ("USD $1,234.50", "1234.50", "USD"),
        ("$.50", "0.50", "USD"),
        ("12.50 CR", "-12.50", None),
        ("−$5.00", "-5.00", "USD"),
        ("RM 9.00", "9.00", "MYR"),
        ("RM9", "9", "MYR"),
        ("Rp 25.000", "25000", "IDR"),
        ("Rp. 25.000,-", "25000", "IDR"),
        ("IDR 1.250.000,00", "1250000.00", "IDR"),
        ("25,000", "25000", None),
        ("£5.00-", "-5.00", "GBP"),
        ("-£5.00", "-5.00", "GBP"),
        ("(5.00)", "-5.00", None),
        ("($ 5.00)", "-5.00", "USD"),
        ("$(5.00)", "-5.00", "USD"),
        ("−5,00 zł", "-5.00", "PLN"),
        ("100,00- EUR", "-100.00", "EUR"),
        ("¥1200", "1200", "JPY"),
        ("₹1,23,456.50", "123456.50", "INR"),
        ("1,23,456", "123456", None),
        ("S$ 0.125", "0.125", "SGD"),
        ("-0.00", "0.00", None),
        (" : 9.00 *", "9.00", None),
        ("usd 007.50", "7.50", "USD"),
        ("9. 00", "9.00", None),
        ("1,234 .50", "1234.50", None),
        ("￥1,234-", "1234", "JPY"),
        ("¥1,200-", "1200", "JPY"),
        ("1,200円", "1200", "JPY"),
        ("Rs.500/-", "500", "INR"),
        ("CR 5.00", "-5.00", None),
        (",50", "0.50", None),
        ("BHD 12.345", "12.345", "BHD"),
        ("12.00 SR", "12.00", None),
        ("RM12.00SR", "12.00", "MYR"),
        ("9.00 T", "9.00", None),
        ("+5.00", "5.00", None),
        ("１２．５０", "12.50", None),
    ],
)
def test_normalize_amount_returns_decimal_and_currency(printed: str, value: str, currency: str | None) -> None:
    assert normalize(printed) == Value("amount", value, currency)
    assert normalize(printed, "total") == Value("amount", value, currency)


def test_normalize_quantities_may_be_negative_or_ambiguous() -> None:
    assert normalize_as("-1", "quantity") == Value("quantity", "-1")
    assert normalize_as("0,350 kg", "quantity") == Value("quantity", "0.35")
    assert normalize_as("1,250", "quantity") == Value("quantity", "1.25", ambiguous=True)


def test_normalize_quantity_and_price_is_ambiguous_or_none() -> None:
    assert normalize("3 150.00", "price") == Value("amount", "3150.00", ambiguous=True)
    for text in ("4.50 x 3", "$5 - $10", "1.00 2.00"):
        assert normalize(text, "total") is None


def test_normalize_three_digits_after_period_returns_ambiguous_thousands() -> None:
    assert normalize("16.500", "price") == Value("amount", "16500", ambiguous=True)
    assert normalize("RM 16.500") == Value("amount", "16500", "MYR", ambiguous=True)
    assert normalize("1.234.567") == Value("amount", "1234567")


@pytest.mark.parametrize(
    ("printed", "iso"),
    [
        ("2019-03-04", "2019-03-04"),
        ("20190304", "2019-03-04"),
        ("4 March 2019", "2019-03-04"),
        ("March 4th, 2019", "2019-03-04"),
        ("04-MAR-19", "2019-03-04"),
        ("Sep 5 23:59:59 2019", "2019-09-05"),
        ("25/12/2018", "2018-12-25"),
        ("12/25/18", "2018-12-25"),
        ("12/31/97", "1997-12-31"),
        ("99/12/31", "1999-12-31"),
        ("1 Jan 68", "2068-01-01"),
        ("1 Jan 69", "1969-01-01"),
        ("29/02/00", "2000-02-29"),
        ("03/03/2019", "2019-03-03"),
        ("2019年3月4日", "2019-03-04"),
        ("2018-Jan-04", "2018-01-04"),
        ("1st of March 2019", "2019-03-01"),
        ("31. März 2019", "2019-03-31"),
        ("15 Ogos 2018", "2018-08-15"),
        ("4 de marzo de 2019", "2019-03-04"),
        ("25/03/'19", "2019-03-25"),
        ("15/05/2561", "2018-05-15"),
    ],
)
def test_normalize_unambiguous_date_returns_iso(printed: str, iso: str) -> None:
    for day_first in (None, True, False):
        assert normalize(printed, day_first=day_first) == Value("date", iso)


def test_normalize_ambiguous_date_is_marked() -> None:
    month_first, day_first = Value("date", "2019-03-04", ambiguous=True), Value("date", "2019-04-03", ambiguous=True)
    assert normalize("03/04/2019") == normalize("03/04/2019", day_first=False) == month_first
    assert normalize("03/04/2019", day_first=True) == normalize("03.04.19") == day_first
    assert normalize("03.04.19", day_first=False) == month_first


def test_normalize_label_determines_kind() -> None:
    assert normalize("9") is None
    assert normalize("9", "total") == Value("amount", "9")
    assert normalize("20190304", "gross_amount") == Value("amount", "20190304")
    assert normalize("TOTAL (3) 60,000", "total_price") == Value("amount", "60000")
    assert normalize("SVC 6% Rp. 10.260", "service_price") == Value("amount", "10260", "IDR")
    assert normalize("DISC 10%", "discount_price") is normalize("TOTAL 60,000") is None
    assert normalize("4 March 2019", "total") == Value("date", "2019-03-04")
    assert normalize("25/12/2018 8:13:39 PM") is None
    assert normalize("25/12/2018 8:13:39 PM", "date") == Value("date", "2018-12-25")
    assert normalize("01/02/2018 - 31/03/2018", "flight_from") is None  # two dates
    assert normalize("9.00", "due_date") == Value("amount", "9.00")
    assert normalize("#ab 12-x", "contract_num") == Value("identifier", "AB12-X")
    assert normalize("12/03/2019", "contract_num") == Value("identifier", "12/03/2019")
    for text in ("N°562044387", "Nº: 562044387", "No. 562044387", "nr.: 562044387"):
        assert normalize(text, "invoice_number") == Value("identifier", "562044387")
    for text in ("NO.", "NR12", "N-5", "NO5", "NOR.5"):
        assert normalize(text, "invoice_number") == Value("identifier", text)
    assert normalize(" - ", "contract_num") is None


def test_infer_kind_uses_words_of_label() -> None:
    hints = {
        "amount": ["total", "sub_total.subtotal_price", "menu.unitprice", "taxAmount", "gross_amount", "tax", "TOTAL"],
        "date": ["date", "due_date", "invoiceDate", "flight_from", "flight_to", "issue date"],
        "identifier": ["contract_num", "invoice_number", "tax_id", "flightNumber", "order no.", "ID"],
    }
    for kind, labels in hints.items():
        assert {infer_kind(label) for label in labels} == {kind}
    assert {infer_kind(label) for label in ("company", "address", "", "notes", "idea", "total.cnt")} == {None}


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "ACME Ltd",
        "12 Main Street",
        "10%",
        "1.2.3",
        "1,2,3",
        "12:30",
        "9.00 each",
        "1,2345,678",
        "99/99/2019",
        "12 Mar 10:30",
    ],
)
def test_normalize_other_text_returns_none(text: str) -> None:
    assert normalize(text) is None


def test_value_asdict_has_all_fields() -> None:
    amount, day = normalize("$9.00"), normalize("1/2/19")
    assert amount is not None
    assert day is not None
    assert asdict(amount) == {"kind": "amount", "value": "9.00", "currency": "USD", "ambiguous": False}
    assert asdict(day) == {"kind": "date", "value": "2019-01-02", "currency": None, "ambiguous": True}


labels = st.one_of(st.sampled_from(["", "total", "date", "contract_num"]), st.text(max_size=20))
fragments = st.sampled_from(
    ["1", "23", "456", "2019", ".", ",", "'", "-", "/", "(", ")", " ", "$", "Rp", "rm", "jan", "İDR", "٣"]
)


@given(
    st.one_of(st.text(), st.lists(fragments, max_size=12).map("".join)), labels, st.sampled_from([None, True, False])
)
def test_normalize_any_text_returns_valid_value_or_none(text: str, label: str, day_first: bool | None) -> None:
    value = normalize(text, label, day_first=day_first)
    if value is not None and value.kind == "date":
        date.fromisoformat(value.value)
    if value is not None and value.kind == "amount":
        assert Decimal(value.value).is_finite()


@given(st.decimals(-(10**9), 10**9, places=2), st.sampled_from(["$", "€ ", "RM", "IDR ", ""]))
def test_normalize_generated_amount_returns_same_amount(amount: Decimal, currency: str) -> None:
    english, european = f"{abs(amount):,}", f"{abs(amount):,}".translate(str.maketrans(",.", ".,"))
    for digits in (english, european):
        value = normalize(f"{'-' if amount < 0 else ''}{currency}{digits}")
        assert value is not None
        assert (value.kind, Decimal(value.value), value.ambiguous) == ("amount", amount, False)


@given(st.dates(date(1969, 1, 1), date(2068, 12, 31)))
def test_normalize_generated_date_returns_same_date(day: date) -> None:
    for form in ("%Y-%m-%d", "%d %B %Y", "%b %d, %Y", "%d-%b-%y", "%m/%d/%Y", "%d.%m.%Y"):
        value = normalize(day.strftime(form))
        assert value is not None
        assert (value.kind, value.value) == ("date", day.isoformat())
    value = normalize(day.strftime("%d/%m/%y"), day_first=True)
    assert value is not None
    assert value.value == day.isoformat()


def test_normalize_long_text_returns_none_quickly() -> None:
    start = time.process_time()
    for text in (
        "1" * 100_000,
        "1," * 50_000,
        "- " * 50_000,
        "(" * 100_000,
        "jan" * 40_000,
        "1 " * 50_000,
        "$" * 100_000,
    ):
        for label in ("", "total", "date", "contract_num", text):
            assert normalize(text, label) is None
            normalize(text[:MAX_VALUE_LENGTH], label)
    assert time.process_time() - start < 2


def test_normalize_long_s_in_month_returns_date() -> None:
    assert normalize("12 \u017fep 2019", "date") is not None
