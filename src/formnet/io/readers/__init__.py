"""Read files into documents; one module per file type, imported on first use."""

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path

from formnet.document import Document
from formnet.errors import DocumentError, FormNetError, LimitError
from formnet.io.file_types import SUFFIXES, detect_file_type
from formnet.io.glued_words import split_glued_words
from formnet.io.limits import DEFAULT_LIMITS, ReadLimits, check_file, check_words
from formnet.io.ocr import OcrEngine, find_engine

#: File types that may require an OCR engine.
_OCR_TYPES = ("pdf", "image")
#: File types that hold many FormNet documents.
_DOCUMENT_TYPES = ("jsonl", "parquet")


def read(
    path: str | Path, ocr: str | OcrEngine = "auto", limits: ReadLimits = DEFAULT_LIMITS, skip: int = 0
) -> Iterator[Document]:
    """Iterate over the documents in a file.

    A PDF, image, markup file or OCR service response is one document; JSONL and Parquet files hold many. Glued words,
    such as date ranges, are split, except in FormNet documents, where other data may refer to words by number.

    Args:
        path: The file to read. Its type is detected from its content.
        ocr: The OCR engine for images and scanned PDF pages, or its name.
        limits: Limits on the input.
        skip: Number of documents to skip without parsing them, in JSONL and Parquet files.
    """
    return map(_raise_if_error, read_each(path, ocr, limits, skip))


def read_each(
    path: str | Path, ocr: str | OcrEngine = "auto", limits: ReadLimits = DEFAULT_LIMITS, skip: int = 0
) -> Iterator[Document | DocumentError]:
    """Iterate over the documents in a file like `read`, yielding the error for each invalid JSONL or Parquet record."""
    path = Path(path)
    check_file(path, limits)
    file_type = detect_file_type(path)
    documents = _parse(path, file_type, ocr, limits, skip)
    return documents if file_type in _DOCUMENT_TYPES else islice(documents, skip, None)


def _parse(
    path: Path, file_type: str, ocr: str | OcrEngine, limits: ReadLimits, skip: int
) -> Iterator[Document | DocumentError]:
    """Parse a file; an error that its parser did not expect becomes the `DocumentError` of the file."""
    module = import_module(f"{__name__}.{file_type}")
    documents: Iterator[Document | DocumentError]
    try:
        if file_type in _DOCUMENT_TYPES:
            documents = module.read_each(path, limits, skip)
        elif file_type == "cloud":
            documents = module.read(path, limits)
        elif file_type in _OCR_TYPES:
            # The engine is passed as a function, because files with a text layer do not require one.
            readings = module.read(path, lambda: find_engine(ocr) if isinstance(ocr, str) else ocr, limits)
            documents = map(split_glued_words, readings)
        else:
            documents = map(split_glued_words, module.read(path, limits))
        for document in documents:
            yield _check_words(document, limits)
    except (FormNetError, OSError, MemoryError):
        raise
    except Exception as error:
        raise DocumentError(f"{path}: cannot be read: {type(error).__name__}: {str(error)[:200]}.") from error


def _check_words(document: Document | DocumentError, limits: ReadLimits) -> Document | DocumentError:
    """Return the document, or the error if it has too many words."""
    try:
        if isinstance(document, Document):
            check_words(document, limits)
    except LimitError as error:
        return error
    return document


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
