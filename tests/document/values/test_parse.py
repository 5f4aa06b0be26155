from hypothesis import given
from hypothesis import strategies as st

from formnet.document.values.parse import (
    find_amounts,
    find_dates,
    fold,
    interpret_number,
    parse_amount,
    parse_date,
    split_amount,
)


def test_split_amount_returns_number_sign_and_currency() -> None:
    assert split_amount("9.00)") == split_amount("9.00") == ("9.00", False, None)
    assert split_amount("- Rp. 9.00") == ("9.00", True, "IDR")
    assert split_amount("nine") is None


@given(st.text(max_size=30))
def test_parse_any_text_does_not_raise(text: str) -> None:
    fold(text)
    parse_amount(text)
    parse_date(text)
    list(find_amounts(text))
    list(find_dates(text))


def test_interpret_number_returns_all_readings() -> None:
    def interpretations(digits: str) -> set[str]:
        return {str(number) for number in interpret_number(digits)}

    assert interpretations("1,234.50") == interpretations("1.234,50") == interpretations("1 234,50") == {"1234.50"}
    assert interpretations("1,234") == {"1234", "1.234"}
    assert interpretations("1,234,567") == {"1234567"}
    assert interpretations("0.125") == {"0.125"}
    assert interpretations("12.3456") == {"12.3456"}
    assert interpretations("12") == {"12"}
