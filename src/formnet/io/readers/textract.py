"""Amazon Textract responses: blocks that reference each other, with boxes relative to a page of unknown size."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits
from formnet.io.readers.fields import find, find_number, get, get_number
from formnet.io.readers.pages import WordPage, build_document

TEXT_SOURCE = "Amazon Textract"
#: Key of the results of AnalyzeExpense.
_EXPENSES = "ExpenseDocuments"

#: Width assigned to every page; heights are estimated.
PAGE_WIDTH = 1000.0
#: Height/width ratio of US letter paper, the default. A4 is within 10 % of it.
LETTER_RATIO = 11 / 8.5
#: Typical ratio of character width to word height, within 20 % in FUNSD, CORD, SROIE and ad-buy forms.
CHARACTER_RATIO = 0.5
#: The page ratio is estimated from at least MIN_WORDS words of at least MIN_WORD_LENGTH characters.
MIN_WORD_LENGTH, MIN_WORDS = 4, 10
#: The estimate replaces the default only if they differ by more than this factor; receipts differ by about 3.
MIN_DIFFERENCE = 1.4
#: Estimates outside this range are ignored, because they come from rotated text.
MIN_PAGE_RATIO, MAX_PAGE_RATIO = 0.4, 6.0


class Word(NamedTuple):
    """A word with its box relative to the page size."""

    text: str
    box: Box
    confidence: float | None


def is_response(data: Any) -> bool:
    """Return whether JSON is a response of this service, or the list of responses for a long document."""
    responses = data if isinstance(data, list) else [data]
    return bool(responses) and all(
        isinstance(response, dict) and {*response} & {"Blocks", _EXPENSES} for response in responses
    )


def parse(data: Any, path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Parse a response, or a list of them, into a document."""
    responses = data if isinstance(data, list) else [data]
    blocks = list(_iter_numbered_blocks(responses, path))
    pages: dict[int, list[Word]] = {}
    for block, block_type, page in _in_line_order(blocks, path):
        words = pages.setdefault(page, [])
        if block_type == "WORD":
            words.append(_parse_word(block, f"{path}, page {page}, word {len(words)}"))
    num_pages = find(find(responses[0], "DocumentMetadata", dict, str(path)) or {}, "Pages", int, str(path))
    if num_pages is not None and num_pages > len(pages):
        raise DocumentError(
            f"{path}: holds {len(pages)} of {num_pages} pages. Fetch the remaining responses with NextToken, "
            "and save all responses as one JSON list."
        )
    return build_document(path, (_build_page(pages[number]) for number in sorted(pages)), TEXT_SOURCE, limits)


def _iter_blocks(response: Any, where: str) -> Iterator[Any]:
    """Yield the blocks of a response; AnalyzeExpense returns them by document."""
    for part in [response] if "Blocks" in response else get(response, _EXPENSES, list, where):
        yield from get(part, "Blocks", list, where)


def _iter_numbered_blocks(responses: Sequence[Any], path: Path) -> Iterator[tuple[Any, str, int]]:
    """Yield blocks with their type and page number.

    Page numbers continue across the responses of one request, but restart at 1 if pages were requested one by one.
    """
    offset, started, number = 0, set[int](), 0
    for response in responses:
        blocks = []
        for block in _iter_blocks(response, str(path)):
            where = f"{path}, block {number}"
            block_type, page = get(block, "BlockType", str, where), find(block, "Page", int, where)
            blocks.append((block, block_type, 1 if page is None else page))
            number += 1
        starts = {page for _, block_type, page in blocks if block_type == "PAGE"}
        if starts & started:
            offset, started = offset + max(started), set()
        started |= starts
        yield from ((block, block_type, offset + page) for block, block_type, page in blocks)


def estimate_page_height(words: Sequence[Word]) -> float:
    """Estimate the height of a page of `PAGE_WIDTH` from the proportions of its words."""
    ratios = [
        (x1 - x0) / len(text) / (y1 - y0)
        for text, (x0, y0, x1, y1), _ in words
        if len(text) >= MIN_WORD_LENGTH and y1 > y0
    ]
    if len(ratios) >= MIN_WORDS:
        ratio = median(ratios) / CHARACTER_RATIO
        is_letter = 1 / MIN_DIFFERENCE < ratio / LETTER_RATIO < MIN_DIFFERENCE
        if MIN_PAGE_RATIO < ratio < MAX_PAGE_RATIO and not is_letter:
            return PAGE_WIDTH * ratio
    return PAGE_WIDTH * LETTER_RATIO


def _build_page(words: Sequence[Word]) -> WordPage:
    height = estimate_page_height(words)
    page = WordPage(PAGE_WIDTH, height)
    for text, (x0, y0, x1, y1), confidence in words:
        page.add(text, (x0 * PAGE_WIDTH, y0 * height, x1 * PAGE_WIDTH, y1 * height), confidence)
    return page


def _in_line_order(blocks: Sequence[tuple[Any, str, int]], path: Path) -> Iterator[tuple[Any, str, int]]:
    """Yield pages, then words in the order in which lines reference them, then words without a line."""
    words: dict[str, tuple[Any, str, int]] = {}
    lines: list[Any] = []
    for i, (block, block_type, page) in enumerate(blocks):
        where = f"{path}, block {i}"
        if block_type == "PAGE":
            yield block, block_type, page
        elif block_type == "LINE":
            lines.append((block, where))
        elif block_type == "WORD":
            words[get(block, "Id", str, where)] = block, block_type, page
    for line, where in lines:
        for relationship in find(line, "Relationships", list, where) or ():
            for block_id in find(relationship, "Ids", list, where) or ():
                if isinstance(block_id, str) and block_id in words:
                    yield words.pop(block_id)
    yield from words.values()


def _parse_word(block: Any, where: str) -> Word:
    box = get(get(block, "Geometry", dict, where), "BoundingBox", dict, where)
    left, top = get_number(box, "Left", where), get_number(box, "Top", where)
    width, height = get_number(box, "Width", where), get_number(box, "Height", where)
    confidence = find_number(block, "Confidence", where)
    return Word(
        get(block, "Text", str, where),
        (left, top, left + width, top + height),
        None if confidence is None else confidence / 100,
    )
