"""Documents of words and boxes, without page images."""

from collections.abc import Iterator

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from paper import LINES


def words_and_boxes(name: str = "words", *words: str) -> Document:
    """Return a one-page document with one word per line."""
    builder = DocumentBuilder(name)
    texts = list(words) or " ".join(LINES).split()
    builder.add_page(texts, [[10, 20 * i, 90, 20 * i + 10] for i in range(len(texts))], 100, 20 * len(texts))
    return builder.build()


def documents(count: int) -> Iterator[Document]:
    """Yield one-page documents with different words and lengths."""
    for number in range(count):
        builder = DocumentBuilder(f"document {number}")
        words = f"acme stores invoice {number} date 03/04/2019 total {number}.50".split() * (1 + number % 5)
        builder.add_page(words, [[10, 20 * i, 90, 20 * i + 10] for i in range(len(words))], 100, 20 * len(words) + 20)
        yield builder.build()


def one_page(texts: list[str], boxes: object) -> Document:
    """Return the document 'a form' with one page of 100 × 200."""
    builder = DocumentBuilder("a form")
    builder.add_page(texts, boxes, 100, 200)
    return builder.build()


def row_of_words(texts: list[str], pages: int = 1) -> Document:
    """Return a document with the words in one row on every page."""
    builder = DocumentBuilder("form")
    for _ in range(pages):
        builder.add_page(texts, [[i * 20, 5, i * 20 + 12, 15] for i in range(len(texts))], 20 * len(texts) + 20, 40)
    return builder.build()
