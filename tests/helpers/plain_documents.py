"""Documents made for tests: words and boxes, and no picture."""

from collections.abc import Iterator

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from paper import LINES


def words_and_boxes(name: str = "words", *words: str) -> Document:
    """Give a document of one page, with its words one below the other."""
    builder = DocumentBuilder(name)
    texts = list(words) or " ".join(LINES).split()
    builder.add_page(texts, [[10, 20 * i, 90, 20 * i + 10] for i in range(len(texts))], 100, 20 * len(texts))
    return builder.build()


def documents(count: int) -> Iterator[Document]:
    """Give documents of one page that differ in their words and in length."""
    for number in range(count):
        builder = DocumentBuilder(f"document {number}")
        words = f"acme stores invoice {number} date 03/04/2019 total {number}.50".split() * (1 + number % 5)
        builder.add_page(words, [[10, 20 * i, 90, 20 * i + 10] for i in range(len(words))], 100, 20 * len(words) + 20)
        yield builder.build()
