"""A table in Markdown."""

from collections.abc import Sequence


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Write rows, the first of which is the head."""
    head, *body = rows
    lines = [head, ("---",) * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
