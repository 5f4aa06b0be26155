from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from formnet.errors import OcrError
from formnet.io import ocr
from formnet.io.page_image import load_page_image
from formnet.io.pdfium import open_pdf, text_layer
from formnet.io.readers.pdf import has_usable_text_layer
from ocr_engines import ENGINE_PARAMS, BlankEngine
from ocr_files import read_single
from paper import LINES, drawn_letters, scanned_pdf, stamped_scan, text_pdf

WORDS = tuple(" ".join(LINES).split())
#: A line that adds a filled rectangle to the page instead of text.
RECTANGLE = ") Tj ET 72 600 200 9 re f BT ("


def test_read_pdf_uses_text_layer(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(text_pdf([LINES, ("Page two",)]))
    document = read_single(file, BlankEngine())
    assert document.pages[0].texts == WORDS
    assert document.pages[1].texts == ("Page", "two")
    assert [page.text_source for page in document.pages] == ["PDF text", "PDF text"]
    assert (document.pages[0].width, document.pages[0].height) == (612, 792)
    x0, y0, _, y1 = document.pages[0].boxes[0]
    assert x0 == pytest.approx(72, abs=3)
    assert 792 - 720 - 20 < y0 < y1 < 792 - 720 + 5
    assert [page.frame for page in document.pages] == [0, 1]


def test_read_pdf_rotated_boxes_match_rendered_page(tmp_path: Path) -> None:
    for rotate in (0, 90, 180, 270):
        file = tmp_path / f"{rotate}.pdf"
        file.write_bytes(text_pdf(rotate=rotate))
        page = read_single(file, BlankEngine()).pages[0]
        pixels = np.asarray(load_page_image(page).convert("L"))
        scale = pixels.shape[1] / page.width
        for box in page.boxes:
            x0, y0, x1, y1 = np.round(box * scale).astype(int)
            assert pixels[y0:y1, x0:x1].min() < 128, f"no ink in {box} rotated by {rotate}"
        inked = np.argwhere(pixels < 128)
        low, high = page.boxes[:, :2].min(axis=0) * scale, page.boxes[:, 2:].max(axis=0) * scale
        assert (inked.min(axis=0)[::-1] >= low - 4).all()
        assert (inked.max(axis=0)[::-1] <= high + 4).all()


@pytest.mark.ocr
@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINE_PARAMS)
def test_read_pdf_scan_uses_ocr(tmp_path: Path, engine: str) -> None:
    page = read_single(scanned_pdf(tmp_path / "scan.pdf"), engine).pages[0]
    assert page.text_source.startswith(engine)
    assert page.texts == WORDS
    assert (page.width, page.height) == pytest.approx((600, 800), abs=1)
    assert page.boxes[0, 1] == pytest.approx(50, abs=12)
    assert page.confidences.min() > 0.5


def test_read_pdf_blank_page_has_no_words(tmp_path: Path) -> None:
    file = tmp_path / "empty.pdf"
    file.write_bytes(text_pdf([(), ("one",)]))
    assert [len(page.texts) for page in read_single(file, BlankEngine()).pages] == [0, 1]


def test_read_pdf_vector_graphics_uses_ocr(tmp_path: Path) -> None:
    file = tmp_path / "outlines.pdf"
    file.write_bytes(text_pdf([(RECTANGLE,)]))
    (page,) = read_single(file, BlankEngine()).pages
    assert page.text_source == "blank"


def test_read_pdf_font_without_unicode_map_uses_ocr(tmp_path: Path) -> None:
    """Glyphs with the code of a line-end hyphen are not hyphens."""
    file = tmp_path / "drawn.pdf"
    file.write_bytes(drawn_letters(bytes([1, 2, 3, 2, 4])))
    (page,) = read_single(file, BlankEngine()).pages
    assert page.text_source == "blank"


def test_read_pdf_scan_in_form_xobject_uses_ocr(tmp_path: Path) -> None:
    file = tmp_path / "nested.pdf"
    file.write_bytes(stamped_scan(1, "Received 2024", in_a_form=True))
    (page,) = read_single(file, BlankEngine()).pages
    assert page.text_source == "blank"


def test_read_pdf_vector_graphics_without_engine_raises_only_without_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda _: False)
    file = tmp_path / "lines.pdf"
    file.write_bytes(text_pdf([("one",), (RECTANGLE,)]))
    assert [page.texts for page in read_single(file).pages] == [("one",), ()]
    file.write_bytes(text_pdf([(RECTANGLE,)]))
    with pytest.raises(OcrError, match="no OCR engine is installed"):
        read_single(file)


@pytest.mark.parametrize("strips", [1, 8])
def test_has_usable_text_layer_stamped_scan_is_false(strips: int, tmp_path: Path) -> None:
    stamp = "Case 1:20-cv-00123-ABC Document 12 Filed 03/04/20 Page 1 of 10"
    (tmp_path / "scan.pdf").write_bytes(stamped_scan(strips, stamp))
    with open_pdf(tmp_path / "scan.pdf") as document:
        layer = text_layer(document, 0, tmp_path / "scan.pdf")
    assert layer.texts == stamp.split()
    assert layer.image_coverage == pytest.approx(1)
    assert not has_usable_text_layer(layer)
    assert has_usable_text_layer(replace(layer, image_coverage=0.2))
    boxes = [(20.0 + 40 * (i % 13), 20.0 * (i // 13), 55.0 + 40 * (i % 13), 20.0 * (i // 13) + 10) for i in range(300)]
    assert has_usable_text_layer(replace(layer, texts=["word"] * 300, boxes=boxes))
