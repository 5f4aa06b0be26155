"""File type detection by content, and by name only where the content is ambiguous."""

from pathlib import Path

from formnet.errors import DocumentError

#: Suffixes of supported files, by which directories are searched.
SUFFIXES = (
    ".pdf", ".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp", ".bmp", ".gif",
    ".hocr", ".html", ".htm", ".xml", ".alto", ".json", ".jsonl", ".jsonl.gz", ".parquet",
)  # fmt: skip

PARQUET_MAGIC = b"PAR1"
_PDF_MAGIC = b"%PDF-"
#: Magic bytes and the file type they indicate.
_MAGIC = (
    (_PDF_MAGIC, "pdf"),
    (b"\x89PNG", "image"),
    (b"\xff\xd8\xff", "image"),
    (b"II*\0", "image"),
    (b"MM\0*", "image"),
    (b"II+\0", "image"),
    (b"MM\0+", "image"),
    (b"GIF8", "image"),
    (b"BM", "image"),
    (PARQUET_MAGIC, "parquet"),
    (b"\x1f\x8b", "jsonl"),
)
#: Bytes read for detection; the header of a PDF may start anywhere in them.
_HEAD_BYTES = 1024


def detect_file_type(path: Path) -> str:
    """Return the type of a file: `pdf`, `image`, `markup`, `cloud`, `jsonl` or `parquet`.

    Each type is read by the module of that name in `formnet.io.readers`.
    """
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    for magic, file_type in _MAGIC:
        if head.startswith(magic):
            return file_type
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image"
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if text.startswith(b"<") or head.startswith((b"\xff\xfe<", b"\xfe\xff\0<")):
        return "markup"
    if text.startswith((b"{", b"[")) or head.startswith((b"\xff\xfe{", b"\xff\xfe[", b"\xfe\xff\0{", b"\xfe\xff\0[")):
        return "jsonl" if path.name.lower().endswith(".jsonl") else "cloud"
    if _PDF_MAGIC in head:
        return "pdf"
    if path.name.lower().endswith(".jsonl"):
        return "jsonl"
    raise DocumentError(
        f"{path}: unsupported file type (judged by content). Supported types are PDF, image, hOCR, ALTO, PAGE XML, "
        "the JSON of an OCR service, and FormNet JSONL and Parquet."
    )
