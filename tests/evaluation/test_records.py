import pytest

from formnet.document.builder import DocumentBuilder
from formnet.evaluation.records import (
    Record,
    count_items,
    labeled_record,
    match_values,
    output_record,
    score_records,
)
from formnet.extraction.fields import FieldOutput
from formnet.extraction.schema import FieldSchema, Schema


def field(value: float | str | None, text: str = "", score: float | None = None) -> FieldOutput:
    return FieldOutput(value=value, text=text or str(value), page=1, boxes=[], words=[], score=score)


def test_match_values_time_needs_no_seconds() -> None:
    assert match_values("20:14:00", "8:14 PM")
    assert match_values("8:14PM", "20:14:00")
    assert not match_values("20:14:00", "8:14")


def test_output_record_takes_typed_values() -> None:
    fields = {
        "merchant": {"name": field("ACME", score=0.75)},
        "total": field(9.5, "9.5 EUR"),
        "date": field(None, "99.99.9999"),
        "line_items": [{"total": field(3.3333), "other": [field("x")]}, {"description": field("Tea")}, {}],
    }
    record = output_record(fields, ["merchant.name", "total", "date", "tax"], ["description", "total", "other"])
    assert record.fields == {"merchant.name": "ACME", "total": "9.50"}
    assert record.items == [{"total": "3.3333"}, {"description": "Tea"}]
    assert record.scores == {"merchant.name": 0.75}


def test_labeled_record_takes_printed_texts() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(["Tea", "9,50", "9,50"], [[0, 0, 9, 9], [20, 0, 29, 9], [20, 20, 29, 29]], 40, 40)
    for number, label in enumerate(("item", "price", "total")):
        builder.add_entity(label, [number])
    builder.add_link(0, 1)
    schema = Schema(
        fields=(
            FieldSchema(label="item", path="line_items[].description", anchor=True),
            FieldSchema(label="price", path="line_items[].total", type="amount"),
            FieldSchema(label="total", path="total", type="amount"),
        )
    )
    record = labeled_record(builder.build(), schema, ["total"], ["description", "total"])
    assert record == Record({"total": "9,50"}, [{"description": "Tea", "total": "9,50"}])


@pytest.mark.parametrize(
    ("predicted", "correct"),
    [
        ([{"description": "TEA", "total": "9.50"}], 1),
        ([{"description": "Tea"}], 0),
        ([{"description": "Tea", "total": "9.50", "quantity": "1"}], 0),
        ([{"description": "Tea", "total": "9.50"}, {"description": "Tea", "total": "9.50"}], 1),
    ],
)
def test_count_items_item_needs_all_values_and_no_others(predicted: list[dict[str, str]], correct: int) -> None:
    tally = count_items([{"description": "Tea", "total": "9,50"}], predicted).by_type["item"]
    assert (tally.gold, tally.predicted, tally.correct) == (1, len(predicted), correct)


def test_score_records_spurious_value_lowers_precision() -> None:
    gold = [Record({"total": "9.50"}), Record({"total": "1.00", "invoice_date": "2018-06-05"}, [{"total": "1.00"}])]
    found = [Record({"total": "9.50", "tax": "1.00"}), Record({"total": "2.00", "invoice_date": "2018-06-05"})]
    scores = score_records(gold, found)
    assert (scores["gold"], scores["found"], scores["right"]) == (3, 4, 2)
    assert scores["items"]["recall"] == 0


def test_score_records_calibration_error_compares_scores_with_correct_fields() -> None:
    gold = [Record({"total": "9.50", "date": "2024-06-14"})] * 10
    right, wrong = {"total": "9.50"}, {"total": "1.00"}
    predicted = [Record(right, scores={"total": 0.85})] * 8 + [Record(wrong, scores={"total": 0.85})] * 2
    assert score_records(gold, predicted)["calibration_error"] == pytest.approx(0.05)
    assert "calibration_error" not in score_records(gold, [Record(right)] * 10)
