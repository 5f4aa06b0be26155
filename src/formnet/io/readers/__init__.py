"""A file → Documents. One file a format; what a file is, its first bytes say, and its name only where they do not."""

from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path

from formnet.document import Document
from formnet.errors import DocumentError
from formnet.io.date_ranges import split_ranges
from formnet.io.images import refuse_large
from formnet.io.ocr import OcrEngine, find_engine

#: First bytes → module here.
_MAGIC = (
    (b"%PDF-", "pdf"),
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"II*\0", "image"),
    (b"MM\0*", "image"),
    (b"II+\0", "image"),
    (b"MM\0+", "image"),
    (b"GIF8", "image"),
    (b"BM", "image"),
    (b"PAR1", "parquet"),
    (b"\x1f\x8b", "jsonl"),
)
#: Modules that look at pictures, and so may need an engine.
_SEEING = ("pdf", "image")
#: Modules whose files hold documents of our own: many, and with words that others may know by number.
_OWN = ("jsonl", "parquet")
#: What files with fields on them are usually called: what a folder is searched for.
SUFFIXES = (
    ".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif",
    ".hocr", ".html", ".htm", ".xml", ".alto", ".json", ".jsonl", ".jsonl.gz", ".parquet",
)  # fmt: skip


def read(path: str | Path, ocr: str | OcrEngine = "auto") -> Iterator[Document]:
    """Give the documents in a file; pictures are read by the OCR engine given or named.

    A PDF, a picture or a page of markup is one document; JSONL and Parquet hold many, and those keep their words as
    they are, since others may know them by number.
    """
    return map(_raise_if_error, read_each(path, ocr))


def read_each(path: str | Path, ocr: str | OcrEngine = "auto") -> Iterator[Document | DocumentError]:
    """Give the same, and in place of each of many documents that cannot be had, why."""
    path = Path(path)
    refuse_large(path)
    kind = kind_of(path)
    module = import_module(f"{__name__}.{kind}")
    if kind in _OWN:
        each: Iterator[Document | DocumentError] = module.each(path)
        return each
    if kind in _SEEING:
        # An engine is not looked for unless it is needed.
        documents: Iterator[Document] = module.read(path, lambda: find_engine(ocr) if isinstance(ocr, str) else ocr)
    else:
        documents = module.read(path)
    return documents if kind == "cloud" else map(split_ranges, documents)


def _raise_if_error(document: Document | DocumentError) -> Document:
    if isinstance(document, DocumentError):
        raise document
    return document


def read_one(path: str | Path, ocr: str | OcrEngine = "auto") -> Document:
    """Give the one document in a file."""
    documents = list(islice(read(path, ocr), 2))
    if len(documents) != 1:
        raise DocumentError(f"{path}: holds {'several documents' if documents else 'no document'}, not just one.")
    return documents[0]


def count_documents(path: str | Path) -> int:
    """Count the documents in a file without reading what they say."""
    kind = kind_of(Path(path))
    if kind not in _OWN:
        return 1
    counted: int = import_module(f"{__name__}.{kind}").count(Path(path))
    return counted


def readable(folder: Path) -> list[Path]:
    """List what a folder holds that can be read, by its names, in a stable order."""
    return sorted(file for file in folder.rglob("*") if file.name.lower().endswith(SUFFIXES) and file.is_file())


def kind_of(path: Path) -> str:
    """Name the reader for a file."""
    with path.open("rb") as file:
        first = file.read(1024)
    for magic, kind in _MAGIC:
        if first.startswith(magic):
            return kind
    if first[:4] == b"RIFF" and first[8:12] == b"WEBP":
        return "image"
    text = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<") or first.startswith((b"\xff\xfe<", b"\xfe\xff\0<")):
        return "markup"
    if text.startswith((b"{", b"[")) or first.startswith((b"\xff\xfe{", b"\xff\xfe[", b"\xfe\xff\0{", b"\xfe\xff\0[")):
        return "jsonl" if path.name.lower().endswith(".jsonl") else "cloud"
    if b"%PDF-" in first:  # some have a little before it
        return "pdf"
    if path.name.lower().endswith(".jsonl"):
        return "jsonl"
    raise DocumentError(
        f"{path}: is none of the kinds that can be read: PDF, picture, hOCR, ALTO, PAGE XML, "
        "an OCR service's JSON, or FormNet's own JSONL or Parquet."
    )
