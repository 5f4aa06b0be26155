"""Straight-through processing: the share of documents that need no person, because all header fields are surely right.

Thresholds are chosen on held-out documents. With checks, documents with a failed check are never accepted, and those
whose values are confirmed by a passed check get a threshold of their own.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document
from formnet.evaluation.calibration import NOMINAL_PRECISION, apply_platt, choose_threshold, proportion
from formnet.evaluation.evaluate import DocumentResult, EvaluationResult
from formnet.extraction.calibration import LabelCalibration, log_odds
from formnet.extraction.checks import run_checks
from formnet.extraction.fields import complete_links
from formnet.extraction.schema import Schema
from formnet.extraction.structure import build_tree
from formnet.extraction.tables import is_item


class HeaderField(NamedTuple):
    """A predicted field outside of items, with the log-odds of its probability before calibration."""

    label: str
    log_odds: float
    is_correct: bool


class DocumentOutcome(NamedTuple):
    """What was predicted for one document, and what its checks say."""

    fields: tuple[HeaderField, ...]
    is_complete: bool  # no labeled header field is missing
    passed: int
    failed: int
    failed_on_errors: int  # failed checks that used a wrong value

    @property
    def is_correct(self) -> bool:
        """Whether every reported header field is right."""
        return all(field.is_correct for field in self.fields)

    def score(self, calibration: Mapping[str, LabelCalibration]) -> float:
        """Return the probability that every header field is right, if they were independent; 0 without fields."""
        if not self.fields:
            return 0.0
        parts = ((calibration[field.label], np.array(field.log_odds)) for field in self.fields)
        return float(np.prod([apply_platt(odds, part.slope, part.intercept) for part, odds in parts]))

    def to_json(self) -> dict[str, Any]:
        """Return plain data; `from_json` is the inverse, with log-odds of three digits."""
        fields = [[label, round(odds, 3), int(is_correct)] for label, odds, is_correct in self.fields]
        return {**self._asdict(), "fields": fields}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "DocumentOutcome":
        """Parse plain data."""
        fields = tuple(HeaderField(label, odds, bool(is_correct)) for label, odds, is_correct in data["fields"])
        return cls(**{**data, "fields": fields})


def collect_documents(
    evaluated: EvaluationResult, annotated: Sequence[Document], schema: Schema
) -> list[DocumentOutcome]:
    """Collect the outcomes of an uncalibrated model; `annotated` has the annotations of all heads, for checks."""
    assert not evaluated.calibration, "outcomes hold the probabilities before calibration"
    outcomes = []
    header = {label for label, field in schema.by_label.items() if not is_item(field, schema)}
    for result, document in zip(evaluated.documents, annotated, strict=True):
        judged = list(zip(result.predicted, result.are_correct(evaluated.scheme), strict=True))
        wrong = {(entity.label, entity.words) for entity, is_correct in judged if not is_correct}
        checks = run_checks(build_tree(document.entities, complete_links(document, schema), schema), schema)
        failed = [check for check in checks if check.status == "failed"]
        outcomes.append(
            DocumentOutcome(
                tuple(
                    HeaderField(entity.label, log_odds(entity.score or 0.0), is_correct)
                    for entity, is_correct in judged
                    if entity.label in header
                ),
                not header & _missing_labels(result),
                sum(check.status == "passed" for check in checks),
                len(failed),
                sum(any((entity.label, entity.words) in wrong for entity in check.entities) for check in failed),
            )
        )
    return outcomes


def _missing_labels(result: DocumentResult) -> set[str]:
    """Return the labels of entered values and labeled entities that were not found."""
    entered = result.document.fields.keys() - {entity.label for entity in result.predicted}
    return entered | {span.label for span in result.missed if span.label not in result.document.fields}


def straight_through(
    held_out: Sequence[DocumentOutcome], test: Sequence[DocumentOutcome], calibration: Mapping[str, LabelCalibration]
) -> dict[str, Any]:
    """Choose thresholds on held-out documents, and report what they accept of the test documents."""
    failed = sum(outcome.failed for outcome in test)
    return {
        "nominal_precision": NOMINAL_PRECISION,
        "held_out_documents": len(held_out),
        "correct": proportion(sum(outcome.is_correct for outcome in test if outcome.fields), len(test)),
        "without_checks": _accept(held_out, test, calibration, use_checks=False),
        "with_checks": _accept(held_out, test, calibration, use_checks=True),
        "failed_checks_on_errors": proportion(sum(outcome.failed_on_errors for outcome in test), failed),
    }


def _accept(
    held_out: Sequence[DocumentOutcome],
    test: Sequence[DocumentOutcome],
    calibration: Mapping[str, LabelCalibration],
    *,
    use_checks: bool,
) -> dict[str, Any]:
    groups = [True, False] if use_checks else [None]
    accepted: list[DocumentOutcome] = []
    thresholds: list[float | None] = []
    for is_confirmed in groups:
        chosen = [outcome for outcome in _select(held_out, is_confirmed) if outcome.fields]
        threshold = choose_threshold(_scores(chosen, calibration), np.array([o.is_correct for o in chosen], np.bool_))
        thresholds.append(threshold)
        if threshold is not None:
            accepted += [o for o in _select(test, is_confirmed) if o.fields and o.score(calibration) >= threshold]
    return {
        "thresholds": thresholds,
        "rate": proportion(len(accepted), len(test)),
        "precision": proportion(sum(outcome.is_correct for outcome in accepted), len(accepted)),
        "complete": proportion(sum(outcome.is_correct and outcome.is_complete for outcome in accepted), len(accepted)),
    }


def _select(outcomes: Sequence[DocumentOutcome], is_confirmed: bool | None) -> list[DocumentOutcome]:
    """Select the documents without failed checks that a check confirms or does not; all for None."""
    if is_confirmed is None:
        return list(outcomes)
    return [outcome for outcome in outcomes if not outcome.failed and (outcome.passed > 0) == is_confirmed]


def _scores(outcomes: Sequence[DocumentOutcome], calibration: Mapping[str, LabelCalibration]) -> NDArray[np.float64]:
    return np.array([outcome.score(calibration) for outcome in outcomes], np.float64)
