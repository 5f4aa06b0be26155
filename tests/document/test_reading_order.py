import numpy as np
import pytest

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.reading_order import cell_order, join_cells, reorder


def form() -> DocumentBuilder:
    builder = DocumentBuilder("form")
    builder.add_page(["right", "left", "below"], [[50, 1, 60, 11], [0, 0, 10, 10], [0, 20, 10, 30]], 100, 100)
    builder.add_page(["second"], [[0, 0, 10, 10]], 100, 100)
    builder.add_entity("pair", [1, 0], key_words=[1])
    return builder


def test_reorder_raster_sorts_by_line_and_renumbers_entities() -> None:
    document = reorder(form().build(), "raster")
    assert document.texts == ("left", "right", "below", "second")
    assert document.entities[0].words == (0, 1)
    assert (document.entities[0].text, document.entities[0].key_text) == ("right", "left")
    assert document.entities[0].key_words == (0,)


def test_reorder_shuffled_is_reproducible_and_stays_within_pages() -> None:
    document = form().build()
    orders = [reorder(document, "shuffled", seed).texts for seed in range(20)]
    assert reorder(document, "shuffled", 3).texts == orders[3]
    assert len(set(orders)) > 3
    assert all(order[3] == "second" for order in orders)
    shuffled = reorder(document, "shuffled", 1)
    assert [shuffled.texts[i] for i in shuffled.entities[0].words] == ["left", "right"]


def item_table() -> Document:
    """Build a table with two items, of which the first has a description of three lines, read line by line."""
    rows = [
        (0, "description", 60, "quantity", 140, "amount"),
        (30, "Oak", 60, "2", 140, "12.00"),
        (42, "bookcase,"),
        (54, "white"),
        (80, "Delivery", 60, "1", 140, "4.00"),
    ]
    builder = DocumentBuilder("invoice")
    words, boxes = [], []
    for top, first, *rest in rows:
        for left, text in zip([0, *rest[::2]], [first, *rest[1::2]], strict=True):
            words.append(text)
            boxes.append([left, top, left + 30, top + 10])
    builder.add_page(words, boxes, 200, 200)
    return builder.build()


def test_join_cells_moves_further_lines_of_a_cell_before_the_rest_of_its_row() -> None:
    document = item_table()
    joined, numbers = join_cells(document)
    assert joined.texts == (
        "description", "quantity", "amount", "Oak", "bookcase,", "white", "2", "12.00", "Delivery", "1", "4.00",
    )  # fmt: skip
    assert [document.texts[number] for number in numbers] == list(joined.texts)
    assert join_cells(joined) == (joined, pytest.approx(np.arange(11)))


def test_join_cells_renumbers_entities() -> None:
    document = item_table()
    builder = DocumentBuilder("invoice")
    (page,) = document.pages
    builder.add_page(list(page.texts), page.boxes.tolist(), page.width, page.height)
    builder.add_entity("item", [3, 6, 7])
    joined, _ = join_cells(builder.build())
    assert joined.entities[0].words == (3, 4, 5)
    assert joined.entities[0].text == "Oak bookcase, white"


@pytest.mark.parametrize(
    ("below", "reason"),
    [
        ([0, 16, 30, 26], "too far below"),
        ([6, 12, 36, 22], "indented"),
        ([60, 12, 90, 22], "below no cell"),
        ([0, 12, 130, 22], "below two cells"),
    ],
)
def test_cell_order_line_that_does_not_continue_a_cell_stays(below: list[float], reason: str) -> None:
    boxes = np.array([[0, 0, 30, 10], [100, 0, 130, 10], [140, 0, 160, 10], below], float)
    assert cell_order(boxes).tolist() == [0, 1, 2, 3], reason


def test_cell_order_next_row_and_paragraphs_stay() -> None:
    row = [[0.0, 0, 30, 10], [100, 0, 130, 10], [140, 0, 160, 10]]
    boxes = np.array(row + [[left, 12, right, 22] for left, _, right, _ in row])
    assert cell_order(boxes).tolist() == [0, 1, 2, 3, 4, 5]
    paragraph = np.array([[0.0, 0, 30, 10], [0, 12, 30, 22], [0, 24, 30, 34]])
    assert cell_order(paragraph).tolist() == [0, 1, 2]
    assert cell_order(np.empty((0, 4))).tolist() == []


def test_cell_order_address_next_to_dates_stays() -> None:
    name, due, street, city, phone = (
        [0.0, 0, 60, 10],
        [100, 0, 160, 10],
        [0, 12, 70, 22],
        [0, 24, 50, 34],
        [100, 24, 160, 34],
    )
    boxes = np.array([name, due, street, city, phone])
    assert cell_order(boxes).tolist() == [0, 1, 2, 3, 4]
