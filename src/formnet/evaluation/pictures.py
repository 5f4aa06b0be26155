"""What went wrong, to look at: the reliability of probabilities, and every page with an entity missed or made up."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formnet.document.tags import Span
from formnet.evaluation.entities import spans_of
from formnet.evaluation.evaluate import DocumentResult
from formnet.visualization.mismatches import draw_mismatches
from formnet.visualization.overlay import free_name
from formnet.visualization.plots import draw_reliability


def draw_all(judged: Sequence[DocumentResult], report: dict[str, Any], folder: Path) -> int:
    """Write all pictures into a folder and give their number."""
    folder.mkdir(parents=True, exist_ok=True)
    draw_reliability(report["calibration"], folder / "reliability.png")
    count = 1
    names: dict[str, str] = {}
    for one in judged:
        name = free_name(one.document.id, names)
        gold, found = set(one.gold), set(spans_of(one.found))
        missed, wrong = one.missed, found - gold
        for number, page in enumerate(one.document.pages):
            here = [_on_page(one, spans, number) for spans in (gold & found, missed, wrong)]
            if here[1] or here[2]:
                draw_mismatches(page, *here).save(folder / f"{name}-{number + 1}.png")
                count += 1
    return count


def _on_page(one: DocumentResult, spans: set[Span], page: int) -> list[tuple[str, list[int]]]:
    """Give the spans that lie on a page, as labels with word numbers within the page."""
    pages = one.document.page_of_word
    first = int((pages < page).sum())
    return [
        (span.label, [word - first for word in range(span.start, span.stop)])
        for span in sorted(spans, key=lambda span: span.start)
        if pages[span.start] == page
    ]
