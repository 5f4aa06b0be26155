"""Documents that need no review, by thresholds chosen on held-out documents."""

import json
from dataclasses import replace

import pytest

from formnet.document import Document
from formnet.document.tags import TagScheme
from formnet.evaluation.entities import gold_spans
from formnet.evaluation.evaluate import DocumentResult, EvaluationResult
from formnet.evaluation.straight_through import DocumentOutcome, HeaderField, collect_documents, straight_through
from formnet.extraction.calibration import LabelCalibration
from linked_receipts import SCHEMA, read_receipt

SCHEME = TagScheme(tuple(SCHEMA.by_label))
CALIBRATION = {"total": LabelCalibration(2.0, 0.0), "tax": LabelCalibration(1.0, 1.0)}


def compare(document: Document, gold: Document) -> DocumentOutcome:
    result = DocumentResult(gold, document.entities, gold_spans(gold, SCHEME))
    (outcome,) = collect_documents(EvaluationResult([result], SCHEME, {}), [document], SCHEMA)
    return outcome


def test_collect_documents_judges_header_fields_and_failed_checks() -> None:
    """The prices of two items add up to the total, those of three do not."""
    two, three = read_receipt(2), read_receipt(3)
    outcome = compare(two, two)
    assert [(field.label, field.is_correct) for field in outcome.fields] == [("total", True)]
    assert (outcome.passed, outcome.failed, outcome.is_complete) == (1, 0, True)
    assert (compare(three, three).failed, compare(three, three).failed_on_errors) == (1, 0)
    without_total = replace(three, entities=three.entities[:-1])
    assert not compare(three, without_total).is_correct
    assert compare(three, without_total).failed_on_errors == 1
    missing = compare(without_total, three)
    assert (missing.fields, missing.is_complete, missing.score(CALIBRATION)) == ((), False, 0)
    entered = replace(without_total, fields={"total": "3.00"})
    assert not compare(without_total, entered).is_complete
    assert DocumentOutcome.from_json(json.loads(json.dumps(outcome.to_json()))).to_json() == outcome.to_json()


def test_score_multiplies_calibrated_probabilities() -> None:
    fields = (HeaderField("total", 1.0, True), HeaderField("tax", 0.0, True))
    assert DocumentOutcome(fields, True, 0, 0, 0).score(CALIBRATION) == pytest.approx(0.880797 * 0.731059, abs=1e-6)


def test_straight_through_chooses_on_held_out_documents_and_lets_checks_decide() -> None:
    def outcome(odds: float, *, is_correct: bool, passed: int = 0, failed: int = 0) -> DocumentOutcome:
        return DocumentOutcome((HeaderField("total", odds, is_correct),), True, passed, failed, failed)

    sure = [outcome(3.0, is_correct=True)] * 150
    confirmed = [outcome(1.0, is_correct=True, passed=1)] * 150
    doubtful = [outcome(1.0, is_correct=False)] * 20
    held_out = [*sure, *confirmed, *doubtful]
    test = [*sure[:10], *confirmed[:10], *doubtful[:5], outcome(4.0, is_correct=False, failed=1)]
    result = straight_through(held_out, test, CALIBRATION)
    plain, checked = result["without_checks"], result["with_checks"]
    assert (plain["rate"]["right"], plain["precision"]["right"]) == (11, 10)  # the one with a failed check is accepted
    assert (checked["rate"]["right"], checked["precision"]["right"]) == (20, 20)
    assert result["failed_checks_on_errors"]["share"] == 1
    assert result["correct"]["right"] == 20
    nothing = straight_through(held_out[:50], test, CALIBRATION)  # too few to reach 99 %
    assert nothing["without_checks"]["rate"]["right"] == 0
    empty = DocumentOutcome((), False, 0, 0, 0)  # nothing reported, so nothing wrong, but nothing to accept either
    with_empty = straight_through([*held_out[:50], *[empty] * 100], [*test, empty], CALIBRATION)
    assert with_empty["without_checks"]["rate"]["right"] == 0
    assert (with_empty["correct"]["right"], with_empty["correct"]["of"]) == (20, 27)
