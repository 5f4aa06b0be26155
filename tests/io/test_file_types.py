from pathlib import Path

from formnet.io.file_types import detect_file_type
from ocr_engines import BlankEngine
from ocr_files import read_single
from paper import LINES, text_pdf


def test_detect_file_type_wrong_suffix_uses_content(tmp_path: Path) -> None:
    file = tmp_path / "really-a-pdf.png"
    file.write_bytes(text_pdf())
    assert detect_file_type(file) == "pdf"
    assert read_single(file, BlankEngine()).texts == tuple(" ".join(LINES).split())
