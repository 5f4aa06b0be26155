"""Read files into documents; one module per file type, imported on first use."""

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.date_ranges import split_date_ranges
from formnet.io.file_types import SUFFIXES, detect_file_type
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits, check_file
from formnet.io.ocr import OcrEngine, find_engine

#: File types that may require an OCR engine.
_OCR_TYPES = ("pdf", "image")
#: File types that hold many FormNet documents.
_DOCUMENT_TYPES = ("jsonl", "parquet")


def read(path: str | Path, ocr: str | OcrEngine = "auto", limits: ReadLimits = DEFAULT_LIMITS) -> Iterator[Document]:
    """Iterate over the documents in a file.

    A PDF, image, markup file or OCR service response is one document; JSONL and Parquet files hold many. Words printed
    as a date range are split, except in FormNet documents, where other data may refer to words by number.

    Args:
        path: The file to read. Its type is detected from its content.
        ocr: The OCR engine for images and scanned PDF pages, or its name.
        limits: Limits on the input.
    """
    return map(_raise_if_error, read_each(path, ocr, limits))


def read_each(
    path: str | Path, ocr: str | OcrEngine = "auto", limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[Document | DocumentError]:
    """Iterate over the documents in a file like `read`, yielding the error for each invalid JSONL or Parquet record."""
    path = Path(path)
    check_file(path, limits)
    file_type = detect_file_type(path)
    module = import_module(f"{__name__}.{file_type}")
    if file_type in _DOCUMENT_TYPES:
        records: Iterator[Document | DocumentError] = module.read_each(path, limits)
        return records
    if file_type in _OCR_TYPES:
        # Passed as a function, because files with a text layer do not require an engine.
        documents: Iterator[Document] = module.read(
            path, lambda: find_engine(ocr) if isinstance(ocr, str) else ocr, limits
        )
    else:
        documents = module.read(path, limits)
    return documents if file_type == "cloud" else map(split_date_ranges, documents)


def _raise_if_error(document: Document | DocumentError) -> Document:
    if isinstance(document, DocumentError):
        raise document
    return document


def read_one(path: str | Path, ocr: str | OcrEngine = "auto", limits: ReadLimits = DEFAULT_LIMITS) -> Document:
    """Read a file that holds exactly one document."""
    documents = list(islice(read(path, ocr, limits), 2))
    if len(documents) != 1:
        raise DocumentError(
            f"{path}: holds {'several documents' if documents else 'no document'}; expected exactly one."
        )
    return documents[0]


def count_documents(path: str | Path, limits: ReadLimits = DEFAULT_LIMITS) -> int:
    """Count the documents in a file without parsing them."""
    file_type = detect_file_type(Path(path))
    if file_type not in _DOCUMENT_TYPES:
        return 1
    count: int = import_module(f"{__name__}.{file_type}").count(Path(path), limits)
    return count


def find_files(folder: Path) -> list[Path]:
    """List the files in a directory tree that have a supported suffix, sorted."""
    return sorted(file for file in folder.rglob("*") if file.name.lower().endswith(SUFFIXES) and file.is_file())
