from dataclasses import replace

from field_documents import receipt
from formnet.document import Entity
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import Span
from formnet.evaluation.evaluate import DocumentResult, unknown_labels


def test_document_result_repeated_value_is_missed_once_and_found_anywhere() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(list("abcdef"), [[i, 0, i + 1, 1] for i in range(6)], 6, 1)
    gold = [Span("total", 1, 2), Span("total", 4, 5), Span("date", 0, 1), Span("date", 3, 4), Span("line", 5, 6)]
    document = builder.build({"total": "b", "date": "a"})
    predicted = [Entity("total", "e", (4,), 0, ()), Entity("date", "c", (2,), 0, ())]
    result = DocumentResult(document, predicted, gold)
    assert result.missed == {Span("date", 0, 1), Span("line", 5, 6)}
    assert result.counts.micro.correct == 1
    assert result.counts.micro.gold == 3


def test_unknown_labels_are_counted_once_per_document() -> None:
    document = receipt(total="9.00", shop="Elm")
    document = replace(document, entities=(document.entity("tip", [0]), document.entity("tip", [1])))
    assert unknown_labels([DocumentResult(document, [], [])], {"total"}) == {"tip": 1, "shop": 1}
