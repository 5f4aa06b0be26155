"""Markdown tables."""

from collections.abc import Sequence


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Format rows as a Markdown table; the first row is the header."""
    header, *body = rows
    lines = [header, ("---",) * len(header), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
