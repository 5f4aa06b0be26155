from pathlib import Path

import pytest

from formnet import read
from formnet.errors import DocumentError
from ocr_engines import BlankEngine
from ocr_files import read_single
from paper import text_pdf


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.pdf", b"", "is empty"),
        ("text.pdf", b"hello", "judged by content"),
        ("cut.pdf", text_pdf()[:200], "cannot be opened as a PDF"),
        ("head.pdf", b"%PDF-1.7\n", "cannot be opened as a PDF"),
        ("cut.png", b"\x89PNG\r\n\x1a\n\0\0", "cannot be opened as an image"),
        ("cut.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF", "cannot be opened as an image"),
        ("cut.tif", b"II*\0\x08\0\0\0\xff\xff", "cannot be opened as an image"),
        ("zeros.bin", bytes(100), "unsupported file type"),
    ],
)
def test_read_corrupt_file_raises(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(DocumentError, match=message) as raised:
        read_single(file, BlankEngine())
    assert str(file) in str(raised.value)


def test_read_unsupported_or_missing_file_raises_before_iteration(tmp_path: Path) -> None:
    (tmp_path / "scan.xyz").write_text("hello")
    with pytest.raises(DocumentError, match="unsupported file type"):
        read(tmp_path / "scan.xyz")
    with pytest.raises(DocumentError, match="no such file"):
        read(tmp_path / "none.jsonl")
