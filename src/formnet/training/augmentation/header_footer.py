"""Header and footer lines of one corpus, combined with documents of another.

Receipts of some corpora were cropped or redacted before labeling. A model trained on them alone labels a shop's name as
an item, because it has only seen items and totals. Adding unlabeled header and footer lines of another corpus prevents
that. The same combination, labeled for the other corpus's head, shows that head its fields next to unfamiliar items.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from formnet.document import Document, Page
from formnet.document.boxes import Boxes, line_numbers, raster_order

#: Two decimals mark the lines of items and totals, between header and footer.
_AMOUNT = re.compile(r"\d[.,]\d{2}\b")
_DIGIT = re.compile(r"\d")
#: Maximum lines of a header and of a footer.
MAX_HEADER_LINES, MAX_FOOTER_LINES = 14, 5


@dataclass(frozen=True)
class LabeledLines:
    """Lines of a page, and their entities as labels with word indices into these lines."""

    page: Page
    entities: tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True)
class HeaderFooter:
    """Lines above a document's items and below its totals."""

    header: LabeledLines
    footer: LabeledLines


def extract_header_footers(documents: Sequence[Document]) -> list[HeaderFooter]:
    """Extract header and footer lines from the documents that have an entity in the header."""
    extracted = (HeaderFooter(_header(document), _footer(document)) for document in documents if document.pages)
    return [header_footer for header_footer in extracted if header_footer.header.page.texts]


def _header(document: Document) -> LabeledLines:
    """Return the lines above the first amount, up to the last one with an entity: items may start right below it."""
    page = document.pages[0]
    lines = _lines_without_amounts(page, 1, MAX_HEADER_LINES)
    labeled = {word for entity in document.entities for word in entity.words}
    last = max((number for number, line in enumerate(lines) if labeled.intersection(line)), default=-1)
    return _select_lines(document, page, lines[: last + 1], 0)


def _footer(document: Document) -> LabeledLines:
    page = document.pages[-1]
    lines = _lines_without_amounts(page, -1, MAX_FOOTER_LINES)[::-1]
    return _select_lines(document, page, lines, document.num_words - len(page.texts))


def _select_lines(document: Document, page: Page, lines: Sequence[Sequence[int]], first_word: int) -> LabeledLines:
    """Select lines of a page whose first word has the index `first_word` in the document."""
    entities = ((entity.label, tuple(word - first_word for word in entity.words)) for entity in document.entities)
    return _select_words(
        LabeledLines(page, tuple(entities)), np.array([word for line in lines for word in line], np.intp)
    )


def _lines_without_amounts(page: Page, step: int, max_lines: int) -> list[list[int]]:
    """List the words of each line, from the top or (step -1) from the bottom, until one has an amount."""
    order = raster_order(page.boxes)
    line_of_word = line_numbers(page.boxes)[order]
    lines: list[list[int]] = []
    for line in range(int(line_of_word.max(initial=-1)) + 1)[::step][:max_lines]:
        words = order[line_of_word == line].tolist()
        if any(_AMOUNT.search(page.texts[word]) for word in words):
            break
        lines.append(words)
    return lines


def add_header_footer(document: Document, header_footer: HeaderFooter, generator: np.random.Generator) -> Document:
    """Add a random part of header and footer, unlabeled, to a document that keeps its own entities."""
    header = _truncate(header_footer.header, generator.uniform(0.5, 1))
    footer = _truncate(header_footer.footer, generator.uniform(0, 1))
    unlabeled, offset = _surround(document, header, footer)
    entities = (unlabeled.move_entity(entity, lambda word: [word + offset]) for entity in document.entities)
    return replace(unlabeled, entities=tuple(filter(None, entities)), links=document.links)


def swap_body(
    document: Document, header_footer: HeaderFooter, label_map: Mapping[str, str], generator: np.random.Generator
) -> Document:
    """Insert a document between header and footer lines, labeled with the labels of the latter.

    `label_map` maps labels of the header's head to the document's labels. Of such entities only the last number is
    labeled, because heads differ in whether a total includes the words before the amount.
    """
    header = _sample_lines(header_footer.header, generator)
    footer = _sample_lines(header_footer.footer, generator)
    unlabeled, offset = _surround(document, header, footer)
    footer_start = offset + document.num_words
    entities = [(label, list(words)) for label, words in header.entities]
    entities += [(label, [footer_start + word for word in words]) for label, words in footer.entities]
    for label, document_label in label_map.items():
        words = [word for entity in document.entities if entity.label == document_label for word in entity.words]
        numbers = [offset + word for word in words if _DIGIT.search(document.texts[word])]
        entities.append((label, numbers[-1:]))
    labeled = tuple(unlabeled.entity(label, words) for label, words in entities if words)
    return replace(unlabeled, entities=labeled, fields={})


def _truncate(lines: LabeledLines, share: float) -> LabeledLines:
    """Return the first words of lines."""
    return _select_words(lines, np.arange(round(share * len(lines.page.texts))))


def _sample_lines(lines: LabeledLines, generator: np.random.Generator) -> LabeledLines:
    """Return the lines with an entity, and a random share of the others."""
    line_of_word = line_numbers(lines.page.boxes)
    kept = generator.random(int(line_of_word.max(initial=-1)) + 1) < generator.random()
    kept[line_of_word[[word for _, words in lines.entities for word in words]]] = True
    return _select_words(lines, np.flatnonzero(kept[line_of_word]))


def _select_words(lines: LabeledLines, words: NDArray[np.intp]) -> LabeledLines:
    """Select words in the given order; entities keep their selected words."""
    new_index = {int(word): index for index, word in enumerate(words)}
    entities = (
        (label, tuple(sorted(new_index[word] for word in own if word in new_index))) for label, own in lines.entities
    )
    return LabeledLines(lines.page.take(words), tuple(entity for entity in entities if entity[1]))


def _surround(document: Document, header: LabeledLines, footer: LabeledLines) -> tuple[Document, int]:
    """Add lines around a document without its labels; return it with the number of words before its own."""
    pages = list(document.pages)
    if not (pages[0].texts and pages[-1].texts):  # without words, the size of the lines is unknown
        return replace(document, entities=(), links=()), 0
    pages[0] = _add_lines(pages[0], header.page, above=True)
    pages[-1] = _add_lines(pages[-1], footer.page, above=False)
    return replace(document, pages=tuple(pages), entities=(), links=()), len(header.page.texts)


def _add_lines(page: Page, lines: Page, *, above: bool) -> Page:
    """Add lines above or below the page's words, scaled to their size."""
    if not lines.texts:
        return page
    own, height = page.boxes, _median_height(page.boxes)
    left, right = own[:, 0].min(), own[:, 2].max()
    boxes = _translate(lines.boxes, -lines.boxes[:, 0].min(), -lines.boxes[:, 1].min())
    boxes = boxes * np.tile([(right - left) / boxes[:, 2].max(), height / _median_height(boxes)], 2)
    if above:
        boxes = _translate(boxes, left, own[:, 1].min())
        own = _translate(own, 0, boxes[:, 3].max() + height - own[:, 1].min())
        texts, boxes = lines.texts + page.texts, np.concatenate([boxes, own])
    else:
        boxes = _translate(boxes, left, own[:, 3].max() + height)
        texts, boxes = page.texts + lines.texts, np.concatenate([own, boxes])
    margin = page.height - page.boxes[:, 3].max()
    page_height = float(boxes[:, 3].max() + margin)
    return replace(page, texts=texts, boxes=boxes, confidences=None, height=page_height)


def _translate(boxes: Boxes, right: float, down: float) -> Boxes:
    return boxes + np.array([right, down, right, down])


def _median_height(boxes: Boxes) -> float:
    return float(np.median(boxes[:, 3] - boxes[:, 1]))
