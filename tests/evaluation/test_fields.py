from dataclasses import replace

from field_documents import receipt
from formnet.document import Entity
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import TagScheme
from formnet.evaluation import field_counts
from formnet.evaluation.counts import sum_counts
from formnet.evaluation.fields import are_correct, best_values


def entity(label: str, text: str, score: float) -> Entity:
    return Entity(label, text, (1,), 0, ((20, 0, 30, 10),), score)


def test_field_counts_several_candidates_count_most_confident_once() -> None:
    predicted = [entity("total", "1.00", 0.2), entity("total", "RM9.00", 0.9), entity("date", "1/2/2020", 0.5)]
    assert best_values(predicted, ("total", "date")) == {"total": "RM9.00", "date": "1/2/2020"}
    score = field_counts([receipt(total="9.00", company="X")], [predicted], ("total", "date", "company"))
    normalized, exact = sum_counts(score.by_document), sum_counts(score.exact_by_document)
    assert (normalized.micro.gold, normalized.micro.predicted, normalized.micro.correct) == (2, 2, 1)
    assert exact.micro.correct == 0


def test_field_counts_without_entered_value_scores_labeled_entities() -> None:
    labeled = receipt()
    labeled = replace(labeled, entities=(labeled.entity("total", [1]),))
    predicted = [[entity("total", "9.00", 0.9)], [entity("total", "9.00", 0.9)]]
    score = field_counts([receipt(total="9.00"), labeled], predicted, ("total",))
    assert sum_counts(score.by_document).micro.score.f1 == 1
    both = replace(labeled, fields={"date": "x"})
    score = field_counts([receipt(total="9.00"), both], predicted, ("total", "date"))
    assert sum_counts(score.by_document).micro.correct == 2
    wrong = [[entity("total", "9.00", 0.9)], [replace(entity("total", "Total", 0.9), words=(0,))]]
    score = field_counts([receipt(total="9.00"), labeled], wrong, ("total",))
    assert sum_counts(score.by_document).micro.correct == 1


def test_are_correct_entered_value_matches_any_occurrence() -> None:
    builder = DocumentBuilder("one")
    builder.add_page(["9.00", "RM", "9.00", "8.00", "Elm"], [[0, i, 10, i + 1] for i in range(5)], 10, 5)
    builder.add_entity("shop", [4])
    document = builder.build({"total": "9.00"})
    predicted = [document.entity("total", [0]), document.entity("total", [1, 2]), document.entity("total", [3])]
    predicted += [document.entity("shop", [4]), document.entity("shop", [3, 4])]
    assert are_correct(document, predicted, TagScheme(("shop", "total"))) == [True, True, False, True, False]
