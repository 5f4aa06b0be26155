"""Limits on the input that readers accept, and the check of a file against them."""

from dataclasses import dataclass
from pathlib import Path

from formnet.document import Document
from formnet.errors import DocumentError, LimitError


@dataclass(frozen=True)
class ReadLimits:
    """Limits on reading one file; input beyond a limit raises `LimitError`."""

    #: Bytes of any file.
    max_file_bytes: int = 512 * 2**20
    #: Pages per document.
    max_pages: int = 2_000
    #: Words per document.
    max_words: int = 1_000_000
    #: Pixels per image, checked before it is decompressed.
    max_pixels: int = 100_000_000
    #: Pixels of all pages of an image file; 500 pages of A4 at 300 dpi have 4.4 billion.
    max_file_pixels: int = 5_000_000_000
    #: Words of all entities of a document, as a multiple of its words. Entities hardly overlap in real documents;
    #: without a limit, overlapping ones could expand a small file indefinitely.
    max_entity_overlap: int = 20
    #: Characters in the text layer of a PDF page.
    max_page_characters: int = 500_000
    #: Bytes of markup or OCR service JSON, which take many times their size once parsed.
    max_text_bytes: int = 64 * 2**20
    #: Bytes per document in JSONL and Parquet; 11,000 words take about 0.5 MiB.
    max_line_bytes: int = 64 * 2**20
    #: Decompressed bytes per Parquet row group.
    max_row_group_bytes: int = 2 * 2**30
    #: Characters that Document AI tokens may reference, as a multiple of the text length.
    #: Tokens normally partition the text; without a limit, overlapping ones could expand a small file indefinitely.
    max_text_references: int = 4


DEFAULT_LIMITS = ReadLimits()


def check_file(path: Path, limits: ReadLimits = DEFAULT_LIMITS) -> None:
    """Raise `DocumentError` if a file is missing, empty or too large."""
    if not path.is_file():
        raise DocumentError(f"{path}: {'is a directory, not a file' if path.is_dir() else 'no such file'}.")
    size = path.stat().st_size
    if size == 0:
        raise DocumentError(f"{path}: file is empty.")
    if size > limits.max_file_bytes:
        raise LimitError(
            f"{path}: {size >> 20:,} MiB (limit {limits.max_file_bytes >> 20} MiB). Reduce its size or split it."
        )


def check_words(document: Document, limits: ReadLimits = DEFAULT_LIMITS) -> None:
    """Raise `LimitError` if a document has too many words."""
    if document.num_words > limits.max_words:
        words = f"{document.num_words:,} words (limit {limits.max_words:,})"
        raise LimitError(f"{document.id}: {words}. Split the document.")
