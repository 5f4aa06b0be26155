import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from formnet.document import Document
from formnet.document.boxes import line_boxes, page_size, repair
from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError
from formnet.io.readers.jsonl import from_json

coordinates = st.floats(-1e6, 1e6, allow_nan=False)


def one_page(texts: list[str], boxes: object) -> Document:
    builder = DocumentBuilder("a form")
    builder.add_page(texts, boxes, 100, 200)
    return builder.build()


def test_words_are_numbered_through_all_pages() -> None:
    builder = DocumentBuilder("two pages")
    builder.add_page(["a", "b"], [[0, 0, 1, 1], [2, 0, 3, 1]], 10, 10, confidences=[0.5, 1.0])
    builder.add_page(["c"], [[5, 5, 10, 10]], 20, 10)
    builder.add_entity("letter", [2])
    document = builder.build()
    assert document.texts == ("a", "b", "c")
    assert document.page_of_word.tolist() == [0, 0, 1]
    assert document.entities[0].page == 1
    assert document.entities[0].boxes == ((5, 5, 10, 10),)
    assert document.pages[1].normalized_boxes.tolist() == [[0.25, 0.5, 0.5, 1.0]]
    assert [word.confidence for word in document.words] == [0.5, 1.0, None]
    assert "'a b'" in repr(document)
    assert "20 × 10" in repr(document)


def test_json_round_trip(examples: object) -> None:
    from formnet.datasets import open_corpus

    documents = list(open_corpus(f"jsonl:{examples}"))
    assert [from_json(document.to_json()) for document in documents] == documents
    assert [pickle.loads(pickle.dumps(document)) for document in documents] == documents


def test_a_changed_document_is_not_equal() -> None:
    document = one_page(["a"], [[0, 0, 1, 1]])
    assert one_page(["a"], [[0, 0, 1, 2]]) != document
    assert one_page(["b"], [[0, 0, 1, 1]]) != document
    assert copy.deepcopy(document) == document


def test_boxes_cannot_be_changed_behind_the_documents_back() -> None:
    with pytest.raises(ValueError, match="read-only"):
        one_page(["a"], [[0, 0, 1, 1]]).pages[0].boxes[0, 0] = 5


@pytest.mark.parametrize(
    ("box", "kind", "repaired"),
    [
        ([30, 10, 20, 12], "inverted", [20, 10, 30, 12]),
        ([90, 10, 130, 12], "clipped", [90, 10, 100, 12]),
        ([10, 10, 10, 12], "without area", [9.99, 10, 10.01, 12]),
        ([400, 10, 500, 12], "clipped", [99.98, 10, 100, 12]),
    ],
)
def test_bad_boxes_are_repaired_and_named(box: list[float], kind: str, repaired: list[float]) -> None:
    texts, boxes = ["fine"] * 60 + ["Total"], [[10, 10, 20, 20]] * 60 + [box]
    document = one_page(texts, boxes)
    assert document.pages[0].boxes[-1].tolist() == pytest.approx(repaired)
    assert any(kind in str(r) and "page 1, word 60" in str(r) and "'Total'" in str(r) for r in document.repairs)


@pytest.mark.parametrize("box", [[0, float("nan"), 1, 1], [0, 0, float("inf"), 1]])
def test_boxes_that_are_nowhere_are_refused_by_name(box: list[float]) -> None:
    with pytest.raises(DocumentError, match=r"document 'a form', page 1, word 1: 'Total' .* finite"):
        one_page(["fine", "Total"], [[0, 0, 1, 1], box])


@pytest.mark.parametrize(
    ("boxes", "says"),
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
def test_boxes_of_the_wrong_shape_are_refused_by_name(boxes: object, says: str) -> None:
    with pytest.raises(DocumentError, match="a form") as refusal:
        one_page(["fine", "Total"], boxes)
    assert says in str(refusal.value)


def test_a_turned_page_with_its_sides_swapped_is_mended() -> None:
    boxes = [[x, 10, x + 12, 20] for x in range(0, 180, 15)]
    document = one_page(["word"] * 12, boxes)
    assert (document.pages[0].width, document.pages[0].height) == (200, 100)
    assert document.pages[0].boxes.tolist() == boxes
    assert "sides swapped" in str(document.repairs[0])


def test_one_bad_word_does_not_change_the_page() -> None:
    good = [[10, 10, 20, 20]] * 9
    for bad in ([150, 10, 160, 20], [4000, 10, 5000, 20]):
        document = one_page(["word"] * 10, [*good, bad])
        assert (document.pages[0].width, document.pages[0].height) == (100, 200)
    blank = one_page(["word"] * 9 + [" "] * 9, [*good, *[[4000, 10, 5000, 20]] * 9])
    assert (blank.pages[0].width, blank.pages[0].height) == (100, 200)


def test_a_size_half_given_is_kept() -> None:
    builder = DocumentBuilder("half")
    builder.add_page(["a"], [[10, 10, 20, 20]], width=612)
    assert (builder.build().pages[0].width, builder.build().pages[0].height) == (612, 30)


def test_impossible_pages_are_refused() -> None:
    for width, height in ((0, 10), (1e300, 1e-300), (10, 1e30), (-5, 5)):
        with pytest.raises(DocumentError, match="cannot be"):
            DocumentBuilder("x").add_page(["a"], [[0, 0, 1, 1]], width, height)


def test_a_page_much_too_small_grows() -> None:
    document = one_page(["word"] * 4, [[0, 0, 500, 10], *[[300, 400, 500, 600]] * 3])
    assert (document.pages[0].width, document.pages[0].height) == (500, 600)


def test_dropped_words_renumber_entities_and_links() -> None:
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


def test_entities_stay_on_one_page_and_within_the_words() -> None:
    builder = DocumentBuilder("form")
    builder.add_page(["a"], [[0, 0, 1, 1]], 9, 9)
    builder.add_page(["b"], [[0, 0, 1, 1]], 9, 9)
    document = builder.build()
    with pytest.raises(DocumentError, match="page break"):
        document.entity("x", [0, 1])
    for words in ([], [2], [-1], [0, 0]):
        with pytest.raises(DocumentError, match="distinct words between 0 and 1"):
            document.entity("x", words)
    with pytest.raises(DocumentError, match="has 2 words"):
        builder.add_entity("x", [2])


def test_an_entity_over_two_lines_has_a_box_for_each() -> None:
    boxes = np.array([[50, 0, 90, 10], [92, 1, 99, 11], [0, 20, 30, 30.0]])
    assert line_boxes(boxes) == ((50, 0, 99, 11), (0, 20, 30, 30))


@given(arrays(np.float64, st.tuples(st.integers(0, 20), st.just(4)), elements=coordinates))
def test_repaired_boxes_always_have_area_within_the_page(boxes: np.ndarray) -> None:
    fixed, flaws = repair(boxes, 612.0, 792.0)
    assert (fixed[:, :2] < fixed[:, 2:]).all()
    assert (fixed >= 0).all()
    assert (fixed[:, 2:] <= (612.0, 792.0)).all()
    sound = ~(flaws.inverted | flaws.outside | flaws.flat)
    assert np.array_equal(fixed[sound], boxes[sound])


@given(arrays(np.float64, st.tuples(st.integers(0, 20), st.just(4)), elements=coordinates))
def test_a_guessed_page_is_large_enough(boxes: np.ndarray) -> None:
    width, height = page_size(boxes)
    assert width >= 1
    assert height >= 1
    assert (boxes.reshape(-1, 2) <= (width, height)).all()
