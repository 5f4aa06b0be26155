"""Amazon Textract: a heap of blocks that name each other; boxes are shares of a page whose size is not told."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from formnet.document import Document
from formnet.document.boxes import Box
from formnet.errors import DocumentError
from formnet.io.readers.fields import find, find_number, get, get_number
from formnet.io.readers.pages import WordPage, one_document

READ_BY = "Amazon Textract"
#: Under which AnalyzeExpense puts what it saw.
_EXPENSES = "ExpenseDocuments"

WIDTH = 1000.0
#: Height over width of US letter, which the service's home prints on; A4 is within a tenth of it.
LETTER = 11 / 8.5
#: Width of a letter over height of its word: in FUNSD, CORD, SROIE and ad-buy forms alike, give or take a fifth.
LETTER_SHAPE = 0.5
#: What that is measured on.
LONG_WORD, ENOUGH_WORDS = 4, 10
#: When letters say that a page differs from letter paper by more than this, it does: a receipt is three times as tall.
CLEARLY = 1.4
#: No page is flatter or taller: its text is turned.
FLATTEST, TALLEST = 0.4, 6.0


class Word(NamedTuple):
    """A word with its box in shares of the page."""

    text: str
    box: Box
    confidence: float | None


def wrote(data: Any) -> bool:
    """Tell Textract's answer, or the list of answers that a long document gets."""
    answers = data if isinstance(data, list) else [data]
    return bool(answers) and all(isinstance(answer, dict) and {*answer} & {"Blocks", _EXPENSES} for answer in answers)


def parse(data: Any, path: Path) -> Document:
    """Give the document that Textract's blocks say."""
    answers = data if isinstance(data, list) else [data]
    blocks = list(_numbered(answers, path))
    pages: dict[int, list[Word]] = {}
    for block, kind, page in _in_line_order(blocks, path):
        words = pages.setdefault(page, [])
        if kind == "WORD":
            words.append(_word(block, f"{path}, page {page}, word {len(words)}"))
    told = find(find(answers[0], "DocumentMetadata", dict, str(path)) or {}, "Pages", int, str(path))
    if told is not None and told > len(pages):
        raise DocumentError(
            f"{path}: holds {len(pages)} of {told} pages; get the parts that follow by NextToken, "
            "and put all answers into one JSON list."
        )
    return one_document(path, (_page(pages[number]) for number in sorted(pages)), READ_BY)


def _blocks(answer: Any, where: str) -> Iterator[Any]:
    """Give an answer's blocks; of receipts and invoices, those of each document that was seen."""
    for part in [answer] if "Blocks" in answer else get(answer, _EXPENSES, list, where):
        yield from get(part, "Blocks", list, where)


def _numbered(answers: Sequence[Any], path: Path) -> Iterator[tuple[Any, str, int]]:
    """Give blocks with what they are and their page's number.

    Parts of one answer count on; who asks for page after page is told 1 each time.
    """
    before, begun, number = 0, set[int](), 0
    for answer in answers:
        blocks = []
        for block in _blocks(answer, str(path)):
            where = f"{path}, block {number}"
            kind, page = get(block, "BlockType", str, where), find(block, "Page", int, where)
            blocks.append((block, kind, 1 if page is None else page))
            number += 1
        begins = {page for _, kind, page in blocks if kind == "PAGE"}
        if begins & begun:
            before, begun = before + max(begun), set()
        begun |= begins
        yield from ((block, kind, before + page) for block, kind, page in blocks)


def page_height(words: Sequence[Word]) -> float:
    """Guess a page's height for the width we give it: letter paper, unless its letters would be squeezed on that."""
    shapes = [
        (x1 - x0) / len(text) / (y1 - y0) for text, (x0, y0, x1, y1), _ in words if len(text) >= LONG_WORD and y1 > y0
    ]
    if len(shapes) >= ENOUGH_WORDS:
        ratio = median(shapes) / LETTER_SHAPE
        if FLATTEST < ratio < TALLEST and not 1 / CLEARLY < ratio / LETTER < CLEARLY:
            return WIDTH * ratio
    return WIDTH * LETTER


def _page(words: Sequence[Word]) -> WordPage:
    height = page_height(words)
    page = WordPage(WIDTH, height)
    for text, (x0, y0, x1, y1), confidence in words:
        page.add(text, (x0 * WIDTH, y0 * height, x1 * WIDTH, y1 * height), confidence)
    return page


def _in_line_order(blocks: Sequence[tuple[Any, str, int]], path: Path) -> Iterator[tuple[Any, str, int]]:
    """Give pages and words with their page's number: words as their lines name them, then those without a line."""
    words: dict[str, tuple[Any, str, int]] = {}
    lines: list[Any] = []
    for i, (block, kind, page) in enumerate(blocks):
        where = f"{path}, block {i}"
        if kind == "PAGE":
            yield block, kind, page
        elif kind == "LINE":
            lines.append((block, where))
        elif kind == "WORD":
            words[get(block, "Id", str, where)] = block, kind, page
    for line, where in lines:
        for relation in find(line, "Relationships", list, where) or ():
            for name in find(relation, "Ids", list, where) or ():
                if isinstance(name, str) and name in words:
                    yield words.pop(name)
    yield from words.values()


def _word(block: Any, where: str) -> Word:
    box = get(get(block, "Geometry", dict, where), "BoundingBox", dict, where)
    left, top = get_number(box, "Left", where), get_number(box, "Top", where)
    width, height = get_number(box, "Width", where), get_number(box, "Height", where)
    confidence = find_number(block, "Confidence", where)
    return Word(
        get(block, "Text", str, where),
        (left, top, left + width, top + height),
        None if confidence is None else confidence / 100,
    )
