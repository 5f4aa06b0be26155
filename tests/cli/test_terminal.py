import pytest

from formnet.cli.terminal import format_field
from formnet.extraction.fields import FieldOutput


@pytest.mark.parametrize(
    ("value", "text", "currency", "shown"),
    [
        (1234.5, "1,234.50", "EUR", "1,234.50 EUR"),
        (91000.0, "91.000", None, "91,000"),
        (1.5, "1.5 kg", None, "1.5"),
        (2.0, "2 x", None, "2"),
        ("2024-06-14", "14/06/2024", "EUR", "2024-06-14"),
        (None, "?", "EUR", ""),
    ],
)
def test_format_field_shows_amounts_as_printed(
    value: float | str | None, text: str, currency: str | None, shown: str
) -> None:
    field = FieldOutput(value=value, text=text, page=1, boxes=[], words=[])
    assert format_field(field, currency) == shown
