import pickle
from dataclasses import replace

from field_documents import receipt
from formnet.document import Entity
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import Span, TagScheme
from formnet.evaluation.evaluate import (
    DocumentResult,
    EvaluationResult,
    compute_metrics,
    compute_metrics_without,
    predict_and_compare,
    structure_metrics,
    unknown_labels,
)
from formnet.evaluation.trees import cord_schema
from formnet.extraction.calibration import LabelCalibration
from formnet.extraction.extractor import Extractor


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


def test_compute_metrics_reports_what_thresholds_accept_and_what_is_attainable() -> None:
    scheme = TagScheme(("total", "company"))
    results = []
    for score, text, company in ((0.9, "9.00", "Total"), (0.8, "Total", "Elm"), (0.4, "9.00", "Total")):
        document = replace(receipt(total="9.00", company=company), id=f"{score}")
        total = replace(document.entity("total", [document.texts.index(text)]), score=score)
        results.append(DocumentResult(document, [total], []))
    shop = results[0].document.entity("company", [0])
    results[0] = replace(results[0], predicted=[replace(shop, score=0.95), *results[0].predicted])
    calibration = {"total": LabelCalibration(threshold=0.5), "company": LabelCalibration(threshold=0.9)}
    metrics = compute_metrics(results, scheme, calibration)
    accepted, documents = metrics["calibration"]["accepted"], metrics["calibration"]["documents"]
    assert (accepted["coverage"]["right"], accepted["coverage"]["of"]) == (3, 4)
    assert (accepted["precision"]["right"], accepted["precision"]["of"]) == (2, 3)
    assert (documents["complete"]["right"], documents["complete"]["of"]) == (1, 3)
    assert (documents["precision"]["right"], documents["precision"]["of"]) == (1, 2)
    attainable = metrics["fields"]["attainable"]
    assert (attainable["right"], attainable["of"]) == (5, 6)  # "Elm" is not printed
    assert (metrics["fields"]["gold"], metrics["fields"]["printed"]["gold"]) == (6, 5)
    assert metrics["fields"]["printed"]["right"] == metrics["fields"]["right"] == 3
    uncalibrated = compute_metrics(results, scheme, {})
    assert "accepted" not in uncalibrated["calibration"]
    without = compute_metrics_without(EvaluationResult(results, scheme, calibration), {"0.9"})
    assert without["not_in_training"]["documents"] == 2
    assert without["fields"] == metrics["fields"]


def test_structure_metrics_trees_are_of_documents_with_labels_of_cord_only() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(list("ab"), [[i, 0, i + 1, 1] for i in range(2)], 2, 1)
    builder.add_entity("menu.nm", [0])
    builder.add_entity("menu.price", [1])
    document = replace(builder.build(), links=((0, 1),))
    labels = frozenset(cord_schema({}).by_label)
    cord, other = (replace(document, annotated=annotated) for annotated in (labels, frozenset({"menu.nm"})))
    right = DocumentResult(cord, document.entities, [], document.links, document.links)
    wrong = DocumentResult(other, [], [])
    scheme = TagScheme((*sorted(labels), "company"))
    metrics = structure_metrics([wrong, right], scheme)
    assert metrics["trees"]["nted"] == metrics["trees"]["item_f1"] == 1
    assert metrics["links"]["f1"] < 1
    assert "trees" not in structure_metrics([wrong], scheme)


def test_predict_and_compare_join_cells_first_line_of_an_entity_is_not_correct(extractor: Extractor) -> None:
    rows = [("item", "number", "price"), ("Oak", "1", "12.00"), ("bookcase",), ("Pine", "2", "9.00")]
    cells = [(100 * column, 12 * row, text) for row, texts in enumerate(rows) for column, text in enumerate(texts)]
    builder = DocumentBuilder("invoice")
    builder.add_page([text for *_, text in cells], [[x, y, x + 40, y + 10] for x, y, _ in cells], 300, 100)
    builder.add_entity("company", [3, 6])  # the amounts are between its words
    reader = pickle.loads(pickle.dumps(extractor))
    reader.model.config.task = replace(reader.model.config.get_task(), join_cells=True).to_dict()
    evaluated = predict_and_compare(reader, [builder.build()])
    (result,) = evaluated.documents
    assert result.gold == [Span("company", 3, 5)]
    assert result.predicted
    for entity in result.predicted:
        assert entity.text == " ".join(result.document.texts[word] for word in entity.words)
    parts = [result.document.entity("company", words) for words in ([3], [3, 4])]
    assert replace(result, predicted=parts).are_correct(evaluated.scheme) == [False, True]
