"""Checks: equations that the values of a document must satisfy, declared in its schema."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Literal, NamedTuple

from formnet.document import Entity
from formnet.extraction.schema import Check, Schema, Term
from formnet.extraction.structure import Node

Status = Literal["passed", "failed", "not_applicable"]
#: Amounts may differ by rounding: by this much, or by this share.
TOLERANCE, RELATIVE_TOLERANCE = Decimal("0.05"), Decimal("0.001")


class CheckResult(NamedTuple):
    """The outcome of a check, for the document or for one element of a list."""

    name: str
    status: Status
    entities: tuple[Entity, ...] = ()  # those that the equation used
    left: Decimal | None = None
    right: Decimal | None = None
    element: int | None = None  # number of the list element


def run_checks(root: Node, schema: Schema) -> list[CheckResult]:
    """Evaluate the checks of a schema on a document."""
    results = []
    for check in schema.checks:
        if check.for_each is None:
            results.append(_evaluate(check, root, None))
            continue
        elements = _select([root], check.for_each.split("."))
        results += [_evaluate(check, element, number) for number, element in enumerate(elements)]
    return results


def _evaluate(check: Check, node: Node, element: int | None) -> CheckResult:
    """Return the first alternative that holds, else the first that can be evaluated."""
    failed: CheckResult | None = None
    for equation in check.equations:
        used: list[Entity] = []
        left, right = _add_up(equation.left, node, used), _add_up(equation.right, node, used)
        if left is None or right is None:
            continue
        holds = abs(left - right) <= max(TOLERANCE, RELATIVE_TOLERANCE * abs(right))
        result = CheckResult(check.name, "passed" if holds else "failed", tuple(used), left, right, element)
        if holds:
            return result
        failed = failed or result
    return failed or CheckResult(check.name, "not_applicable", element=element)


def _add_up(terms: Sequence[Term], node: Node, used: list[Entity]) -> Decimal | None:
    """Compute one side of an equation; None if a required value is missing."""
    total = Decimal(0)
    for term in terms:
        product = Decimal(1)
        for factor in term.factors:
            found = list(_numbers(node, factor.path))
            if not found and not factor.optional:
                return None
            if not factor.is_sum and len(found) > 1:
                found = [max(found, key=lambda pair: pair[0].score or 0.0)]
            used += [entity for entity, _ in found]
            product *= sum((number for _, number in found), Decimal(0))
        # A discount is printed with or without a minus sign.
        total += product if term.sign > 0 else -abs(product)
    return total


def _numbers(node: Node, path: Sequence[str]) -> Iterator[tuple[Entity, Decimal]]:
    for owner in _select([node], path[:-1]):
        for entity in owner.values.get(path[-1], ()):
            if entity.value is not None and entity.value.kind in ("amount", "quantity"):
                yield entity, Decimal(entity.value.value)


def _select(nodes: Sequence[Node], path: Sequence[str]) -> list[Node]:
    """Return all nodes at a path; lists contribute all of their elements."""
    for name in path:
        nodes = [
            child
            for node in nodes
            for child in (*node.lists.get(name, ()), *([node.parts[name]] if name in node.parts else ()))
        ]
    return list(nodes)
