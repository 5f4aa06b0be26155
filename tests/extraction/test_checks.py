from dataclasses import replace
from decimal import Decimal

import pytest
from pydantic import ValidationError

from formnet.document import Document
from formnet.document.values.normalize import normalize_as
from formnet.extraction.checks import CheckResult, run_checks
from formnet.extraction.schema import Check, FieldSchema, Schema
from formnet.extraction.structure import build_tree
from plain_documents import words_and_boxes

SCHEMA = Schema(
    fields=(
        FieldSchema(label="name", path="items[].name", anchor=True),
        FieldSchema(label="count", path="items[].quantity", type="quantity"),
        FieldSchema(label="each", path="items[].price", type="amount"),
        FieldSchema(label="price", path="items[].total", type="amount"),
        *(FieldSchema(label=name, path=name, type="amount") for name in ("subtotal", "tax", "discount", "total")),
        FieldSchema(label="cash", path="payments[].amount", type="amount"),
    ),
    checks=(
        Check(name="item", for_each="items", any_of=("quantity * price = total",)),
        Check(name="subtotal", any_of=("sum(items.total) = subtotal",)),
        Check(name="total", any_of=("subtotal - discount? + tax? = total", "subtotal - discount? = total")),
        Check(name="paid", any_of=("sum(payments.amount) = total",)),
    ),
)


def check(entities: str, *links: tuple[int, int]) -> dict[str, CheckResult]:
    """Run the checks on entities written as "label=text", in one document with one word each."""
    pairs = [pair.split("=") for pair in entities.split()]
    document: Document = words_and_boxes("receipt", *[text for _, text in pairs])
    found = []
    for number, (label, text) in enumerate(pairs):
        kind = SCHEMA.by_label[label].type
        value = None if kind == "text" else normalize_as(text, kind)  # type: ignore[arg-type]
        found.append(replace(document.entity(label, [number], 0.9), value=value))
    results = run_checks(build_tree(found, links, SCHEMA), SCHEMA)
    return {result.name + ("" if result.element is None else str(result.element)): result for result in results}


def test_run_checks_correct_receipt_passes() -> None:
    results = check(
        "name=Tea count=2 each=1.50 price=3.00 name=Cake count=1 each=4.00 price=4.00 "
        "subtotal=7.00 tax=0.42 total=7.42 cash=5.00 cash=2.42",
        (0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (4, 7),
    )  # fmt: skip
    assert {name: result.status for name, result in results.items()} == {
        "item0": "passed", "item1": "passed", "subtotal": "passed", "total": "passed", "paid": "passed"
    }  # fmt: skip
    assert [entity.text for entity in results["total"].entities] == ["7.00", "0.42", "7.42"]
    assert (results["subtotal"].left, results["subtotal"].right) == (Decimal(7), Decimal(7))


def test_run_checks_wrong_values_fail_and_missing_ones_are_not_applicable() -> None:
    results = check("name=Tea count=2 each=1.50 price=3.50 subtotal=3.00 total=4.00", (0, 1), (0, 2), (0, 3))
    assert {name: result.status for name, result in results.items()} == {
        "item0": "failed", "subtotal": "failed", "total": "failed", "paid": "not_applicable"
    }  # fmt: skip
    assert results["item0"].left == Decimal("3.00")
    assert not results["paid"].entities


def test_run_checks_alternatives_signs_and_rounding() -> None:
    included = check("subtotal=10.00 tax=0.60 total=10.00")["total"]
    assert (included.status, [entity.label for entity in included.entities]) == ("passed", ["subtotal", "total"])
    for discount in ("1.00", "-1.00"):
        assert check(f"subtotal=10.00 discount={discount} tax=0.54 total=9.55")["total"].status == "passed"
    assert check("subtotal=10.00 total=10.06")["total"].status == "failed"
    assert check("subtotal=100.050 total=100.100")["total"].status == "passed"


@pytest.mark.parametrize("equation", ["total", "a = b = c", "a = ", "A = b", "sum(a = b", "a / b = c"])
def test_check_invalid_equation_raises(equation: str) -> None:
    with pytest.raises(ValidationError):
        Check(name="bad", any_of=(equation,))
