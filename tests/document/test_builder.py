import numpy as np
import pytest

from formnet.document.builder import MAX_REPAIRS, DocumentBuilder
from formnet.errors import MAX_MESSAGE_LENGTH, DocumentError, FormNetError
from plain_documents import one_page


@pytest.mark.parametrize(
    ("box", "kind", "repaired"),
    [
        ([30, 10, 20, 12], "inverted", [20, 10, 30, 12]),
        ([90, 10, 130, 12], "clipped", [90, 10, 100, 12]),
        ([10, 10, 10, 12], "without area", [9.99, 10, 10.01, 12]),
        ([400, 10, 500, 12], "clipped", [99.98, 10, 100, 12]),
    ],
)
def test_add_page_invalid_box_is_repaired_and_recorded(box: list[float], kind: str, repaired: list[float]) -> None:
    texts, boxes = ["fine"] * 60 + ["Total"], [[10, 10, 20, 20]] * 60 + [box]
    document = one_page(texts, boxes)
    assert document.pages[0].boxes[-1].tolist() == pytest.approx(repaired)
    assert any(kind in str(r) and "page 1, word 60" in str(r) and "'Total'" in str(r) for r in document.repairs)


@pytest.mark.parametrize("box", [[0, float("nan"), 1, 1], [0, 0, float("inf"), 1]])
def test_add_page_non_finite_box_raises(box: list[float]) -> None:
    with pytest.raises(DocumentError, match=r"document 'a form', page 1, word 1: 'Total' .* finite"):
        one_page(["fine", "Total"], [[0, 0, 1, 1], box])


@pytest.mark.parametrize(
    ("boxes", "message"),
    [
        ([[0, 0, 1, 1]], "2 words but 1 boxes"),
        ([[0, 0, 1, 1], [0, 1]], "word 1: 'Total' has the box"),
        ([[0, 0, 1, 1], "nonsense"], "word 1: 'Total' has the box"),
        ([[0, 0, 1, 1], [0, 0, 1, "x"]], "word 1: 'Total' has the box"),
        ([[0, 0, 1, 1], [0, 0, 1, 10**400]], "page 1"),
        ([[0, 50], [0, 0], [10, 60], [10, 10]], "2 words but 4 boxes"),
        ([0, 0, 1, 1, 0, 0, 1, 1], "2 words but 8 boxes"),
        ([["0", "0", "1", "1"]] * 2, "word 0: 'fine' has the box"),
        (np.zeros((4, 2)), "four numbers for each word"),
    ],
)
def test_add_page_boxes_of_wrong_shape_raises(boxes: object, message: str) -> None:
    with pytest.raises(DocumentError, match="a form") as error:
        one_page(["fine", "Total"], boxes)
    assert message in str(error.value)


def test_add_page_swapped_sides_are_corrected() -> None:
    boxes = [[x, 10, x + 12, 20] for x in range(0, 180, 15)]
    document = one_page(["word"] * 12, boxes)
    assert (document.pages[0].width, document.pages[0].height) == (200, 100)
    assert document.pages[0].boxes.tolist() == boxes
    assert "sides swapped" in str(document.repairs[0])


def test_add_page_one_word_outside_keeps_page_size() -> None:
    good = [[10, 10, 20, 20]] * 9
    for bad in ([150, 10, 160, 20], [4000, 10, 5000, 20]):
        document = one_page(["word"] * 10, [*good, bad])
        assert (document.pages[0].width, document.pages[0].height) == (100, 200)
    blank = one_page(["word"] * 9 + [" "] * 9, [*good, *[[4000, 10, 5000, 20]] * 9])
    assert (blank.pages[0].width, blank.pages[0].height) == (100, 200)


def test_add_page_width_only_infers_height() -> None:
    builder = DocumentBuilder("half")
    builder.add_page(["a"], [[10, 10, 20, 20]], width=612)
    assert (builder.build().pages[0].width, builder.build().pages[0].height) == (612, 30)


def test_add_page_invalid_size_raises() -> None:
    for width, height in ((0, 10), (1e300, 1e-300), (10, 1e30), (-5, 5)):
        with pytest.raises(DocumentError, match="invalid page size"):
            DocumentBuilder("x").add_page(["a"], [[0, 0, 1, 1]], width, height)


def test_add_page_too_small_size_grows() -> None:
    document = one_page(["word"] * 4, [[0, 0, 500, 10], *[[300, 400, 500, 600]] * 3])
    assert (document.pages[0].width, document.pages[0].height) == (500, 600)


def test_build_blank_words_renumbers_entities_and_links() -> None:
    builder = DocumentBuilder("form")
    builder.add_page(["", "Name:", " ", "Ann", "Lee"], [[i, 0, i + 1, 1] for i in range(5)], 9, 9)
    builder.add_entity("question", [0, 1])
    builder.add_entity("nothing", [2])
    builder.add_entity("answer", [3, 4])
    builder.add_link(0, 2)
    builder.add_link(1, 2)
    builder.add_link(0, 2)
    document = builder.build()
    assert [(e.label, e.words, e.text) for e in document.entities] == [
        ("question", (0,), "Name:"),
        ("answer", (1, 2), "Ann Lee"),
    ]
    assert document.links == ((0, 1),)
    assert len(document.repairs) == 5


def test_add_entity_word_out_of_range_raises() -> None:
    builder = DocumentBuilder("form")
    builder.add_page(["a"], [[0, 0, 1, 1]], 9, 9)
    builder.add_page(["b"], [[0, 0, 1, 1]], 9, 9)
    with pytest.raises(DocumentError, match="has 2 words"):
        builder.add_entity("x", [2])


def test_add_page_long_text_in_error_is_truncated() -> None:
    builder = DocumentBuilder("a")
    with pytest.raises(DocumentError) as caught:
        builder.add_page(["\0" * 1_000_000], [[float("nan"), 0, 1, 1]])
    assert len(str(caught.value)) <= MAX_MESSAGE_LENGTH + 1
    assert str(FormNetError("short")) == "short"


def test_add_page_many_repairs_are_limited() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(["x"] * 20_000, [[9, 9, 0, 0]] * 20_000, 10, 10)
    assert len(builder.build().repairs) == MAX_REPAIRS


def test_build_many_link_repairs_are_limited() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(["w"], [[0, 0, 1, 1]], 9, 9)
    builder.add_entity("a", [0])
    builder.add_entity("b", [0])
    for _ in range(MAX_REPAIRS + 50):
        builder.add_link(0, 1)
    assert len(builder.build().repairs) == MAX_REPAIRS


def test_add_page_long_word_is_truncated() -> None:
    builder = DocumentBuilder("long")
    builder.add_page(["a" * 5000, "b"], [[0, 0, 1, 1], [2, 0, 3, 1]], 9, 9)
    document = builder.build()
    assert document.texts == ("a" * 1000, "b")
    assert [str(repair) for repair in document.repairs] == [
        f"page 1, word 0: long word truncated: '{'a' * 20}'… of 5,000 characters"
    ]
