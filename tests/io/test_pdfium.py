from pathlib import Path

import numpy as np
import pytest
from pypdf import PdfReader, PdfWriter

from formnet.errors import DocumentError, LimitError
from formnet.io.limits import ReadLimits
from formnet.io.pdfium import render_page_of
from ocr_engines import BlankEngine
from ocr_files import read_single, write_file
from paper import LINES, form_pdf, text_pdf


def test_open_pdf_encrypted_raises(tmp_path: Path) -> None:
    plain, file = tmp_path / "plain.pdf", tmp_path / "secret.pdf"
    plain.write_bytes(text_pdf())
    writer = PdfWriter(clone_from=PdfReader(plain))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(file)
    with pytest.raises(DocumentError, match=r"encrypted\. Save it without a password"):
        read_single(file)


def test_open_pdf_over_limit_raises(tmp_path: Path) -> None:
    file = tmp_path / "long.pdf"
    file.write_bytes(text_pdf([LINES] * 3))
    with pytest.raises(LimitError, match=r"3 pages \(limit 2\)"):
        read_single(file, limits=ReadLimits(max_pages=2))
    file.write_bytes(text_pdf())
    with pytest.raises(LimitError, match=r"long.pdf, page 1: \d+ characters"):
        read_single(file, limits=ReadLimits(max_pages=2, max_page_characters=5))


def test_text_layer_hyphen_at_line_end_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "hyphen.pdf"
    file.write_bytes(text_pdf([("Order ABC-", "DEF next")]))
    (page,) = read_single(file, BlankEngine()).pages
    assert page.texts == ("Order", "ABC-", "DEF", "next")
    assert page.boxes[1, 2] > page.boxes[1, 0] + 40


def test_text_layer_outside_crop_box_is_ignored(tmp_path: Path) -> None:
    pdf = text_pdf([("seen", "also seen", "", "", "", "", "", "", "", "", "", "", "", "cut")])
    cropped = pdf.replace(b"/MediaBox [0 0 612 792]", b"/MediaBox [0 0 612 792] /CropBox [0 400 612 792]")
    page = read_single(write_file(tmp_path, cropped, "a.pdf")).pages[0]
    assert page.texts == ("seen", "also", "seen")
    assert (page.width, page.height) == (612, 392)


def test_text_layer_form_field_is_read_and_rendered(tmp_path: Path) -> None:
    (tmp_path / "form.pdf").write_bytes(form_pdf("INV-4711"))
    document = read_single(tmp_path / "form.pdf")
    assert document.texts == ("Invoice", "number", "INV-4711")
    assert 300 <= document.boxes[-1][0] <= document.boxes[-1][2] <= 450
    pixels = np.asarray(render_page_of(tmp_path / "form.pdf", 0).convert("L"))
    scale = pixels.shape[0] / 792
    assert pixels[round(77 * scale) : round(97 * scale), round(300 * scale) : round(450 * scale)].min() < 100
