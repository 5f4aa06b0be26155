"""Images for error analysis: a reliability diagram, and each page with missed or spurious entities."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from formnet.document.tags import Span
from formnet.evaluation.entities import entity_spans
from formnet.evaluation.evaluate import DocumentResult
from formnet.visualization.mismatches import draw_mismatches
from formnet.visualization.overlay import unique_file_name
from formnet.visualization.plots import draw_reliability


def draw_error_pages(results: Sequence[DocumentResult], metrics: dict[str, Any], folder: Path) -> int:
    """Write the images to a folder and return their number."""
    folder.mkdir(parents=True, exist_ok=True)
    draw_reliability(metrics["calibration"], folder / "reliability.png")
    count = 1
    names: dict[str, str] = {}
    for result in results:
        name = unique_file_name(result.document.id, names)
        gold, predicted = set(result.gold), set(entity_spans(result.predicted))
        groups = (gold & predicted, result.missed, predicted - gold)
        for number, page in enumerate(result.document.pages):
            correct, missed, spurious = (_on_page(result, spans, number) for spans in groups)
            if missed or spurious:
                draw_mismatches(page, correct, missed, spurious).save(folder / f"{name}-{number + 1}.png")
                count += 1
    return count


def _on_page(result: DocumentResult, spans: set[Span], page: int) -> list[tuple[str, list[int]]]:
    """Return the spans on a page as labels with word indices relative to the page."""
    pages = result.document.page_of_word
    first = int((pages < page).sum())
    return [
        (span.label, [word - first for word in range(span.start, span.stop)])
        for span in sorted(spans, key=lambda span: span.start)
        if pages[span.start] == page
    ]
