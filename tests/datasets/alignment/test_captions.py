import pytest

from formnet.datasets.alignment import with_captions, with_entities
from tests.datasets.alignment.test_align import make_page


@pytest.mark.parametrize(
    ("lines", "caption"),
    [
        (("Tea 4.50", "TOTAL (RM) : 9.00"), "TOTAL (RM) :"),
        (("2 Total 9.00",), "Total"),  # numbers are not part of captions
        (("Total", "9.00"), ""),  # on another line
        (("GST 6% 9.00",), ""),
    ],
)
def test_with_captions_takes_words_before_value_on_its_line(lines: tuple[str, ...], caption: str) -> None:
    (document,) = with_entities([make_page(*lines, fields={"total": "9.00"})])
    (entity,) = with_captions(document, ["total"]).entities
    assert (entity.text, entity.key_text) == ("9.00", caption)


def test_with_captions_other_labels_are_unchanged() -> None:
    (document,) = with_entities([make_page("Total 9.00", fields={"total": "9.00"})])
    assert with_captions(document, ["date"]) == document
