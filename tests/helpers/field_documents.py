"""A receipt of two words, with field values."""

from formnet.document import Document
from formnet.document.builder import DocumentBuilder


def receipt(**fields: str) -> Document:
    """Return a receipt with the words "Total" and "9.00" and these field values."""
    builder = DocumentBuilder("receipt")
    builder.add_page(["Total", "9.00"], [[0, 0, 10, 10], [20, 0, 30, 10]], 40, 40)
    return builder.build(fields)
