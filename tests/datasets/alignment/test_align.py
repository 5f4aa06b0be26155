import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formnet.datasets.alignment import Match, Miss, align, find
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.values.parse import fold, parse_amount, parse_date


def make_page(*lines: str, fields: dict[str, str] | None = None) -> Document:
    """Return a document with these lines, ten units per character and twenty per line."""
    texts, boxes = [], []
    for y, line in enumerate(lines):
        x = 0
        for word in line.split(" "):
            if word:
                texts.append(word)
                boxes.append([x * 10, y * 20, (x + len(word)) * 10, y * 20 + 15])
            x += len(word) + 1
    builder = DocumentBuilder("page")
    builder.add_page(texts, boxes, 1000, 20 * len(lines) + 20)
    return builder.build(fields)


def matched_text(document: Document, value: str, name: str = "") -> str:
    found = find(document, value, name)
    assert isinstance(found, Match), found
    return " ".join(document.texts[i] for i in found.words)


@pytest.mark.parametrize(
    ("line", "value", "words"),
    [
        ("by ACME  Ltd. today", "acme ltd", "ACME Ltd."),
        ("by A.C.M.E. Ltd today", "ACME LTD", "A.C.M.E. Ltd"),
        ("total RM9.00 paid", "9.00", "RM9.00"),
        ("total $10,910.00 paid", "10910", "$10,910.00"),
        ("total 1.234,50 EUR", "€1,234.50", "1.234,50"),
        ("total: 9.00 paid", "RM 9.00", "9.00"),
        ("on 03/27/2020 -", "3/27/20", "03/27/2020"),
        ("on 27 March 2020 -", "27/03/2020", "27 March 2020"),
        ("on Mar27/20 -", "03/27/20", "Mar27/20"),
        ("on 2020-03-27 -", "March 27, 2020", "2020-03-27"),
        ("Date:27/03/2020 16:30", "27/03/2020", "Date:27/03/2020"),
        ("No:12345X end", "12345X", "No:12345X"),
        ("Café Zoë here", "CAFE ZOE", "Café Zoë"),
        ("Tel #: 555 - 0142 .", "5550142", "555 - 0142"),
        ("Total 3 450.00", "450.00", "450.00"),
        ("3 450,00 total", "3450.00", "3 450,00"),
        ("9.00 then -9.00", "-9.00", "-9.00"),
        ("-9.00 then 9.00", "9.00", "9.00"),
        ("5.00% of 5.00", "5.00", "5.00"),
        ("less (5.00)", "5.00", "(5.00)"),
        ("on 12/31/97 -", "12/31/1997", "12/31/97"),
        ("on 5 March 2020 -", "2020/3/5", "5 March 2020"),
        ("1 10 each 110", "110", "110"),
        ("the Bulding Materials Conpany Ltd", "Building Materials Company Ltd", "Bulding Materials Conpany Ltd"),
    ],
)
def test_find_other_notation_returns_words(line: str, value: str, words: str) -> None:
    assert matched_text(make_page(line), value) == words


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("total 900 or 19.00", "9.00"),
        ("number 1234567 only", "34567"),
        ("on 04/03/2020", "03/04/2020"),
        ("on 28-11-18", "28-01-18"),
        ("nothing of the kind", "Building Materials"),
        ("x", "—"),
        ("order 1234568", "1234567"),
        ("order INV-2024-0018", "INV-2024-0017"),
        ("Another", "the"),
        ("sum 125", "$0.125"),
        ("on 03/20/2020", "March 2020"),
        ("5 marbles 20", "5/3/2020"),
    ],
)
def test_find_absent_value_returns_miss(line: str, value: str) -> None:
    assert isinstance(find(make_page(line), value), Miss)


def test_find_miss_reports_closest_text() -> None:
    miss = find(make_page("Invoice 28-11-18 of today"), "28-01-18")
    assert isinstance(miss, Miss)
    assert miss.closest == "28-11-18"
    assert "Closest text: '28-11-18', edit distance 1" in str(miss)


def test_find_empty_page_returns_miss() -> None:
    assert isinstance(find(make_page(), "9.00"), Miss)
    assert isinstance(find(make_page(), "text"), Miss)


def test_find_value_across_lines_and_columns() -> None:
    assert matched_text(make_page("to 12 Main", "Street, Kelby"), "12 Main Street Kelby") == "12 Main Street, Kelby"
    columns = DocumentBuilder("columns")  # read by column, but the value is on one line
    columns.add_page(["Name", "Born", "Ann", "1990"], [[0, 0, 9, 9], [0, 20, 9, 29], [50, 0, 59, 9], [50, 20, 59, 29]])
    assert matched_text(columns.build(), "Name Ann") == "Name Ann"


def test_find_prefers_occurrence_next_to_name() -> None:
    document = make_page("9.00 tea", "Total 9.00", "Cash 9.00")
    match = find(document, "9.00", "total")
    assert isinstance(match, Match)
    assert match.words == (3,)
    assert match.reason == "next to 'Total', 3 occurrences"
    assert match.others == ((0,), (5,))
    above = make_page("x 7.00", "Gross", "7.00")
    assert find(above, "7.00", "gross_amount").reason == "next to 'Gross', 2 occurrences"  # type: ignore[union-attr]
    assert find(make_page("Subtotal 7.00", "Total 7.00"), "7.00", "total").words == (3,)  # type: ignore[union-attr]
    assert find(document, "9.00", "").reason == "last of 3 occurrences"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lines", "chosen"),
    [
        (("SUB TOTAL 9.00", "TOTAL 9.00", "CASH 9.00"), 1),
        (("TOTAL 9.00", "TOTAL QTY: 2 9.00"), 0),
        (("TOTAL (EXCLUDING GST) 9.00", "TOTAL (INCL GST) 9.00"), 1),
        (("TOTAL SALES 9.00", "ROUNDING 0.00", "TOTAL ROUNDED 9.00"), 2),
        (("ITEM      TOTAL", "TEA       9.00", "TOTAL 9.00"), 2),
        (("TOTAL QTY 9", "DUE 9.00"), 1),
    ],
)
def test_find_total_skips_other_amounts(lines: tuple[str, ...], chosen: int) -> None:
    page = make_page(*lines)
    found = find(page, "9.00", "total")
    assert isinstance(found, Match)
    assert page.boxes[found.words[0], 1] == 20 * chosen


def test_align_prefers_adjacent_values() -> None:
    document = make_page(
        "printed 03/01/20", "from 03/01/20 - 03/08/20", fields={"flight_start": "03/01/20", "flight_end": "03/08/20"}
    )
    alignment = align(document)
    assert alignment.matches["flight_start"].words == (3,)
    assert [e.words for e in alignment.document.entities] == [(3,), (5,)]


def test_align_uses_each_word_once() -> None:
    twice = make_page("5/1/20 - 5/1/20", fields={"start": "5/1/20", "end": "5/1/20"})
    assert sorted(e.words for e in align(twice).document.entities) == [(0,), (2,)]
    once = make_page("on 5/1/20", fields={"start": "5/1/20", "end": "5/1/20"})
    alignment = align(once)
    assert [e.label for e in alignment.document.entities] == ["start"]
    assert set(alignment.matches) == {"start", "end"}


def test_align_keeps_existing_entities() -> None:
    document = make_page("Total 9.00 9.00", fields={"total": "9.00", "paid": "9.00"})
    labeled = replace(document, entities=(document.entity("total", [1]),))
    alignment = align(labeled)
    assert [(e.label, e.words) for e in alignment.document.entities] == [("total", (1,)), ("paid", (2,))]


def test_align_all_occurrences_adds_each() -> None:
    document = make_page("9.00 tea", "Total 9.00", fields={"total": "9.00"})
    assert len(align(document).document.entities) == 1
    assert len(align(document, "all").document.entities) == 2


@given(st.lists(st.text(alphabet="aB1.-/ é$", min_size=1, max_size=5), min_size=1, max_size=8), st.data())
def test_find_any_word_sequence_returns_match(words: list[str], draw: st.DataObject) -> None:
    texts = [word for word in words if word.strip()]
    if not texts:
        return
    builder = DocumentBuilder("line")
    builder.add_page(texts, [[i * 10, 0, i * 10 + 9, 9] for i in range(len(texts))], 1000, 20)
    document = builder.build()
    start = draw.draw(st.integers(0, len(texts) - 1))
    stop = draw.draw(st.integers(start + 1, len(texts)))
    value = " ".join(texts[start:stop])
    if fold(value):
        found = find(document, value)
        assert isinstance(found, Match), value
        assert (
            fold(value) in fold(" ".join(document.texts[i] for i in found.words))
            or parse_amount(value)
            or parse_date(value)
        )


def test_find_long_values_returns_quickly() -> None:
    document = make_page("a few words")
    start = time.process_time()
    for value in (" " * 5_000 + "x", "1" * 100_000, "1," * 50_000, "- " * 10_000, "jan" * 10_000, "x" * 1_000_000):
        assert isinstance(find(document, value), Miss)
    assert time.process_time() - start < 2


@pytest.mark.parametrize(
    ("words", "value", "expected"),
    [
        ("ACME 03/04/2019 Coffee 3.00", "3.00", 3),
        ("ACME 12:30 INV-12 12-B Sum 12.00", "12.00", 5),
        ("5.00 x -$5.00", "-5.00", 2),
        ("-$5.00 x 5.00", "5.00", 2),
        ("5.00- x 5.00", "5.00", 2),
        ("500 −5.00", "−5.00", 1),
        ("500 1’234.50", "1234.50", 1),
    ],
)
def test_find_amount_skips_dates_times_and_identifiers(words: str, value: str, expected: int) -> None:
    builder = DocumentBuilder("a")
    texts = words.split()
    builder.add_page(texts, [[10, 20 * i, 90, 20 * i + 10] for i in range(len(texts))], 100, 200)
    found = find(builder.build(), value, "sum of all")
    assert isinstance(found, Match)
    assert found.words == (expected,)
