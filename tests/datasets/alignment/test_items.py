from formnet.datasets.alignment import align_items
from tests.datasets.alignment.test_align import make_page

TEA = {"description": "Green tea", "quantity": "2", "unit_price": "4.50", "total": "9.00"}
CUP = {"description": "Cup", "quantity": "1", "unit_price": "9.00", "total": "9.00"}


def texts(lines: tuple[str, ...], *items: dict[str, str]) -> list[dict[str, str]]:
    document = make_page(*lines)
    return [
        {name: " ".join(document.texts[i] for i in words) for name, words in item.items()}
        for item in align_items(document, items)
    ]


def test_align_items_rows_are_found_in_order() -> None:
    lines = (
        "Pos Article    Qty  Price  Amount",
        "1   Green tea    2   4,50    9,00",
        "2   Cup          1   9,00    9,00",
    )
    found = texts(lines, TEA, CUP)
    assert found[0] == {"description": "Green tea", "quantity": "2", "unit_price": "4,50", "total": "9,00"}
    assert found[1] == {"description": "Cup", "quantity": "1", "unit_price": "9,00", "total": "9,00"}


def test_align_items_repeated_price_follows_columns() -> None:
    lines = ("1   Green tea    2   4.50    9.00", "2   Cup          1   9.00    9.00")
    document = make_page(*lines)
    cup = align_items(document, [TEA, CUP])[1]
    (price,), (total,), (quantity,) = cup["unit_price"], cup["total"], cup["quantity"]
    assert document.boxes[price, 0] < document.boxes[total, 0]
    assert document.boxes[quantity, 0] > document.boxes[cup["description"][0], 0]  # not the number of the row


def test_align_items_description_on_next_line_is_found() -> None:
    assert texts(("2   4.50    9.00", "Green tea"), TEA)[0]["description"] == "Green tea"


def test_align_items_equal_items_use_different_rows() -> None:
    document = make_page("Cup  1  9.00  9.00", "Cup  1  9.00  9.00")
    first, second = align_items(document, [CUP, CUP])
    assert not {w for words in first.values() for w in words} & {w for words in second.values() for w in words}
    assert len(first) == len(second) == 4


def test_align_items_missing_item_has_no_words() -> None:
    assert texts(("Cup  1  9.00  9.00",), TEA, CUP) == [{}, {**CUP}]


def test_align_items_single_value_is_not_a_row() -> None:
    assert texts(("Total 9.00",), CUP) == [{}]
