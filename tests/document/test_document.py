import copy
import pickle

import pytest

from formnet.document.builder import DocumentBuilder
from formnet.errors import DocumentError
from formnet.io.readers.jsonl import from_json
from plain_documents import one_page


def test_document_two_pages_numbers_words_across_pages() -> None:
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


def test_document_turn_back_returns_what_the_image_shows() -> None:
    builder = DocumentBuilder("two pages")
    builder.add_page(["a"], [[10, 0, 30, 5]], 100, 50, rotation=90)
    builder.add_page(["b"], [[10, 0, 30, 5]], 100, 50)
    for word in (0, 1):
        builder.add_entity("letter", [word])
    document = builder.build()
    assert from_json(document.to_json()) == document
    shown = document.turn_back()
    assert [(page.width, page.height, page.rotation) for page in shown.pages] == [(50, 100, 0), (100, 50, 0)]
    assert [entity.boxes for entity in shown.entities] == [((0, 70, 5, 90),), ((10, 0, 30, 5),)]
    assert shown.pages[0].boxes.tolist() == [[0, 70, 5, 90]]
    assert shown.turn_back() is shown


def test_document_json_and_pickle_round_trip_returns_equal(examples: object) -> None:
    from formnet.datasets import open_corpus

    documents = list(open_corpus(f"jsonl:{examples}"))
    assert [from_json(document.to_json()) for document in documents] == documents
    assert [pickle.loads(pickle.dumps(document)) for document in documents] == documents


def test_document_changed_box_or_text_is_not_equal() -> None:
    document = one_page(["a"], [[0, 0, 1, 1]])
    assert one_page(["a"], [[0, 0, 1, 2]]) != document
    assert one_page(["b"], [[0, 0, 1, 1]]) != document
    assert copy.deepcopy(document) == document


def test_page_boxes_assignment_raises() -> None:
    with pytest.raises(ValueError, match="read-only"):
        one_page(["a"], [[0, 0, 1, 1]]).pages[0].boxes[0, 0] = 5


def test_entity_invalid_words_raises() -> None:
    builder = DocumentBuilder("form")
    builder.add_page(["a"], [[0, 0, 1, 1]], 9, 9)
    builder.add_page(["b"], [[0, 0, 1, 1]], 9, 9)
    document = builder.build()
    with pytest.raises(DocumentError, match="page break"):
        document.entity("x", [0, 1])
    for words in ([], [2], [-1], [0, 0]):
        with pytest.raises(DocumentError, match="distinct words between 0 and 1"):
            document.entity("x", words)
