"""PDFs and pictures: what is read off them, and what is refused."""

import pickle
import warnings
import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter

from formnet.document import Document
from formnet.errors import DocumentError, LimitError, OcrError
from formnet.io import images, ocr
from formnet.io import pdfium as pdfs
from formnet.io.ocr import Reading, find_engine
from formnet.io.ocr.tesseract import parse
from formnet.io.page_image import scan_of
from formnet.io.readers import kind_of, read
from formnet.io.readers.pdf import has_usable_text_layer
from paper import LINES, drawn_letters, form_pdf, picture, scanned_pdf, stamped_scan, text_pdf

WORDS = tuple(" ".join(LINES).split())
ENGINES = [
    pytest.param(name, marks=pytest.mark.skipif(not ocr.is_installed(name), reason=f"{name} is not installed"))
    for name in ocr.ENGINES
]


class Nothing:
    """An engine that sees nothing, for files that need none."""

    name = "nothing"

    def read(self, _: Image.Image) -> Reading:
        return Reading((), (), ())


def only(path: Path, engine: object = "auto") -> Document:
    (document,) = read(path, engine)
    return document


# PDF


def test_a_pdf_gives_its_own_words(tmp_path: Path) -> None:
    file = tmp_path / "a.pdf"
    file.write_bytes(text_pdf([LINES, ("Page two",)]))
    document = only(file, Nothing())
    assert document.pages[0].texts == WORDS
    assert document.pages[1].texts == ("Page", "two")
    assert [page.text_source for page in document.pages] == ["PDF text", "PDF text"]
    assert (document.pages[0].width, document.pages[0].height) == (612, 792)
    x0, y0, _, y1 = document.pages[0].boxes[0]
    assert x0 == pytest.approx(72, abs=3)
    assert 792 - 720 - 20 < y0 < y1 < 792 - 720 + 5
    assert [page.frame for page in document.pages] == [0, 1]


def test_boxes_stand_where_the_page_shows_the_words_however_it_is_turned(tmp_path: Path) -> None:
    for rotate in (0, 90, 180, 270):
        file = tmp_path / f"{rotate}.pdf"
        file.write_bytes(text_pdf(rotate=rotate))
        page = only(file, Nothing()).pages[0]
        shown = np.asarray(scan_of(page).convert("L"))
        scale = shown.shape[1] / page.width
        for box in page.boxes:
            x0, y0, x1, y1 = np.round(box * scale).astype(int)
            assert shown[y0:y1, x0:x1].min() < 128, f"no ink in {box} turned by {rotate}"
        inked = np.argwhere(shown < 128)
        low, high = page.boxes[:, :2].min(axis=0) * scale, page.boxes[:, 2:].max(axis=0) * scale
        assert (inked.min(axis=0)[::-1] >= low - 4).all()
        assert (inked.max(axis=0)[::-1] <= high + 4).all()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_scan_in_a_pdf_is_read_by_ocr(tmp_path: Path, engine: str) -> None:
    page = only(scanned_pdf(tmp_path / "scan.pdf"), engine).pages[0]
    assert page.text_source.startswith(engine)
    assert page.texts == WORDS
    assert (page.width, page.height) == pytest.approx((600, 800), abs=1)
    assert page.boxes[0, 1] == pytest.approx(50, abs=12)
    assert page.confidences.min() > 0.5


def test_an_empty_page_needs_no_engine(tmp_path: Path) -> None:
    file = tmp_path / "empty.pdf"
    file.write_bytes(text_pdf([(), ("one",)]))
    assert [len(page.texts) for page in only(file, Nothing()).pages] == [0, 1]


def test_a_page_of_outlines_is_read_by_ocr(tmp_path: Path) -> None:
    file = tmp_path / "outlines.pdf"
    file.write_bytes(text_pdf([(") Tj ET 72 600 200 9 re f BT (",)]))
    (page,) = only(file, Nothing()).pages
    assert page.text_source == "nothing"


def test_a_hyphen_at_the_end_of_a_line_stays(tmp_path: Path) -> None:
    file = tmp_path / "hyphen.pdf"
    file.write_bytes(text_pdf([("Order ABC-", "DEF next")]))
    (page,) = only(file, Nothing()).pages
    assert page.texts == ("Order", "ABC-", "DEF", "next")
    assert page.boxes[1, 2] > page.boxes[1, 0] + 40


def test_letters_of_a_font_without_a_map_are_no_hyphens(tmp_path: Path) -> None:
    file = tmp_path / "drawn.pdf"
    file.write_bytes(drawn_letters(bytes([1, 2, 3, 2, 4])))
    (page,) = only(file, Nothing()).pages
    assert page.text_source == "nothing"


def test_a_scan_is_measured_on_the_page_whatever_form_it_is_in(tmp_path: Path) -> None:
    file = tmp_path / "nested.pdf"
    file.write_bytes(stamped_scan(1, "Received 2024", in_a_form=True))
    (page,) = only(file, Nothing()).pages
    assert page.text_source == "nothing"


def test_without_an_engine_a_page_of_lines_costs_no_other_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda _: False)
    file, lines = tmp_path / "lines.pdf", (") Tj ET 72 600 200 9 re f BT (",)
    file.write_bytes(text_pdf([("one",), lines]))
    assert [page.texts for page in only(file).pages] == [("one",), ()]
    file.write_bytes(text_pdf([lines]))
    with pytest.raises(OcrError, match="no OCR engine is installed"):
        only(file)


def test_an_engine_of_ones_own_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ourocr.py").write_text(
        "from formnet.io.ocr import Reading\nclass Engine:\n    name, made = 'ours', 0\n"
        "    def __init__(self):\n        Engine.made += 1\n"
        "    def read(self, image):\n        return Reading((f'{Engine.made}',), ((0, 0, 9, 9),), (1.0,))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    frames = [picture(), picture()]
    for name in ("a.tif", "b.tif"):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
        assert only(tmp_path / name, "ourocr:Engine").texts == ("1", "1")


def test_an_encrypted_pdf_says_what_to_do(tmp_path: Path) -> None:
    plain, file = tmp_path / "plain.pdf", tmp_path / "secret.pdf"
    plain.write_bytes(text_pdf())
    writer = PdfWriter(clone_from=PdfReader(plain))
    writer.encrypt("secret", algorithm="RC4-128")
    writer.write(file)
    with pytest.raises(DocumentError, match="encrypted; save it without its password"):
        only(file)


def test_too_many_pages_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdfs, "MOST_PAGES", 2)
    file = tmp_path / "long.pdf"
    file.write_bytes(text_pdf([LINES] * 3))
    with pytest.raises(LimitError, match="has 3 pages; the limit is 2"):
        only(file)
    monkeypatch.setattr(pdfs, "MOST_CHARACTERS", 5)
    file.write_bytes(text_pdf())
    with pytest.raises(LimitError, match=r"long.pdf, page 1: has"):
        only(file)


# Pictures


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".webp"])
def test_every_kind_of_picture_is_read(tmp_path: Path, engine: str, suffix: str) -> None:
    file = tmp_path / f"a{suffix}"
    picture().save(file)
    document = only(file, engine)
    assert document.texts == WORDS
    assert document.pages[0].text_source.startswith(engine)


def test_a_tiff_has_a_page_a_frame(tmp_path: Path) -> None:
    file = tmp_path / "two.tif"
    picture().save(file, save_all=True, append_images=[picture(("Second page",), (400, 300))])
    document = only(file, Nothing())
    assert [(page.width, page.height) for page in document.pages] == [(600, 800), (400, 300)]
    assert scan_of(document.pages[1]).size == (400, 300)


def test_a_camera_s_rotation_is_honoured(tmp_path: Path) -> None:
    file = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned by a quarter
    picture().transpose(Image.Transpose.ROTATE_90).save(file, exif=exif)
    page = only(file, Nothing()).pages[0]
    assert (page.width, page.height) == (600, 800)
    difference = np.asarray(scan_of(page).convert("L"), float) - np.asarray(picture().convert("L"), float)
    assert np.abs(difference).mean() < 3


def test_what_is_clear_is_paper(tmp_path: Path) -> None:
    file = tmp_path / "clear.png"
    Image.new("RGBA", (50, 50), (0, 0, 0, 0)).save(file)
    assert np.asarray(images.frame(file)).min() == 255


def bomb(path: Path) -> Path:
    """A PNG of 40,000 × 40,000 pixels in a few bytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4)

    header = (40_000).to_bytes(4) * 2 + bytes([8, 2, 0, 0, 0])
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    return path


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match="pixels"):
        only(bomb(tmp_path / "bomb.png"), Nothing())


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("empty.pdf", b"", "is empty"),
        ("text.pdf", b"hello", "none of the kinds"),
        ("cut.pdf", text_pdf()[:200], "cannot be opened as a PDF"),
        ("head.pdf", b"%PDF-1.7\n", "cannot be opened as a PDF"),
        ("cut.png", b"\x89PNG\r\n\x1a\n\0\0", "cannot be opened as an image"),
        ("cut.jpg", b"\xff\xd8\xff\xe0\0\x10JFIF", "cannot be opened as an image"),
        ("cut.tif", b"II*\0\x08\0\0\0\xff\xff", "cannot be opened as an image"),
        ("zeros.bin", bytes(100), "none of the kinds"),
    ],
)
def test_broken_files_are_refused_by_name(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(DocumentError, match=message) as raised:
        only(file, Nothing())
    assert str(file) in str(raised.value)


def test_what_a_file_is_its_content_says(tmp_path: Path) -> None:
    wrong = tmp_path / "really-a-pdf.png"
    wrong.write_bytes(text_pdf())
    assert kind_of(wrong) == "pdf"
    assert only(wrong, Nothing()).texts == WORDS
    with pytest.raises(DocumentError, match="no such file"):
        only(tmp_path / "nowhere.pdf")
    with pytest.raises(DocumentError, match="is a folder"):
        only(tmp_path)


# Engines


def test_a_missing_engine_says_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ocr, "is_installed", lambda _: False)
    with pytest.raises(OcrError, match=r"no OCR engine is installed.*pip install 'formnet\[ocr\]'.*tesseract-ocr"):
        only(scanned_pdf(tmp_path / "scan.pdf"))
    with pytest.raises(OcrError, match=r"the OCR engine 'tesseract' is not installed"):
        find_engine("tesseract")
    with pytest.raises(OcrError, match="no OCR engine 'magic'; known are auto, rapidocr, tesseract"):
        find_engine("magic")


def test_engines_are_named_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine:
        name = "mine 1"

        def read(self, _: Image.Image) -> Reading:
            return Reading((), (), ())

    monkeypatch.setattr(ocr, "Mine", Mine, raising=False)
    assert find_engine("formnet.io.ocr:Mine").name == "mine 1"
    monkeypatch.setenv(ocr.CHOICE, "formnet.io.ocr:Mine")
    assert find_engine().name == "mine 1"
    monkeypatch.delenv(ocr.CHOICE)
    for name in ("formnet.io.ocr:Engne", "nowhere.at.all:Mine"):
        with pytest.raises(OcrError, match="cannot be imported"):
            ocr.refuse_unknown(name)
    with pytest.raises(OcrError, match="takes no language"):
        ocr.refuse_unknown("rapidocr:deu")
    for name in ("auto", "rapidocr", "tesseract", "tesseract:deu+eng"):
        ocr.refuse_unknown(name)
    if ocr.is_installed("tesseract"):
        assert getattr(find_engine("tesseract:osd"), "language", None) == "osd"


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_find_nothing_on_nothing_and_can_be_sent_elsewhere(engine: str) -> None:
    found = pickle.loads(pickle.dumps(find_engine(engine)))
    assert not found.read(Image.new("RGB", (300, 200), "white")).texts
    assert any(c.isdigit() for c in found.name)


@pytest.mark.skipif(not ocr.is_installed("tesseract"), reason="tesseract is not installed")
def test_tesseract_is_given_up_after_a_while_and_its_faults_are_told() -> None:
    from formnet.io.ocr.tesseract import Engine

    with pytest.raises(OcrError, match="took longer than"):
        Engine(seconds=0.001).read(picture())
    with pytest.raises(OcrError, match="tesseract failed"):
        Engine(language="klingon").read(picture())


@pytest.mark.skipif(not ocr.is_installed("tesseract"), reason="tesseract is not installed")
def test_tesseract_reads_a_receipt_as_long_as_a_roll() -> None:
    roll = Image.new("RGB", (400, 17_000), "white")
    roll.paste(picture(), (0, 8_000))
    assert find_engine("tesseract").read(roll).texts


def test_tesseract_s_table_is_read_as_it_is() -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    word, line = '5\t1\t1\t1\t1\t1\t20\t40\t60\t10\t95.5\t"Total\n', "4\t1\t1\t1\t1\t0\t0\t0\t9\t9\t-1\t\n"
    blank = "5\t1\t1\t1\t1\t2\t1\t1\t1\t1\t-1\t \n"
    seen = parse(head + word + line + blank, scale=2)
    assert (seen.texts, seen.boxes, seen.confidences) == (['"Total'], [(10, 20, 40, 25)], [0.955])


@pytest.mark.parametrize("slope", [-0.06, 0.0, 0.06])
def test_lines_of_a_page_askew_are_read_in_their_order(slope: float) -> None:
    from formnet.io.ocr.rapid import line_by_line

    quads = []
    for row in range(6):
        for x0, x1 in ((40, 300), (620, 700)):
            y = 40 + 36 * row
            quads.append([[x, y + h + slope * x] for x, h in ((x0, 0), (x1, 0), (x1, 24), (x0, 24))])
    mixed = np.random.default_rng(0).permutation(len(quads))
    order = line_by_line(np.array(quads)[mixed])
    assert mixed[order].tolist() == list(range(len(quads)))


def test_what_is_filled_into_a_form_is_read(tmp_path: Path) -> None:
    (tmp_path / "form.pdf").write_bytes(form_pdf("INV-4711"))
    document = only(tmp_path / "form.pdf")
    assert document.texts == ("Invoice", "number", "INV-4711")
    assert 300 <= document.boxes[-1][0] <= document.boxes[-1][2] <= 450
    drawn = np.asarray(pdfs.page_picture(tmp_path / "form.pdf", 0).convert("L"))
    unit = drawn.shape[0] / 792
    assert drawn[round(77 * unit) : round(97 * unit), round(300 * unit) : round(450 * unit)].min() < 100


@pytest.mark.parametrize("strips", [1, 8])
def test_a_scan_with_a_stamp_is_read_by_the_engine(strips: int, tmp_path: Path) -> None:
    stamp = "Case 1:20-cv-00123-ABC Document 12 Filed 03/04/20 Page 1 of 10"
    (tmp_path / "scan.pdf").write_bytes(stamped_scan(strips, stamp))
    with pdfs.open_pdf(tmp_path / "scan.pdf") as document:
        layer = pdfs.text_layer(document, 0, tmp_path / "scan.pdf")
    assert layer.texts == stamp.split()
    assert layer.pictured == pytest.approx(1)
    assert not has_usable_text_layer(layer)
    assert has_usable_text_layer(replace(layer, pictured=0.2))
    page = [(20.0 + 40 * (i % 13), 20.0 * (i // 13), 55.0 + 40 * (i % 13), 20.0 * (i // 13) + 10) for i in range(300)]
    assert has_usable_text_layer(replace(layer, texts=["word"] * 300, boxes=page))


@pytest.mark.parametrize(
    ("kind", "name"), [("uint16", "a.png"), ("uint16", "a.tif"), ("int32", "b.tif"), ("float32", "c.tif")]
)
def test_more_than_eight_bits_of_gray_are_seen(kind: str, name: str, tmp_path: Path) -> None:
    light = np.full((40, 60), 60_000, kind)
    light[10:20, 10:50] = 3_000
    Image.fromarray(light).save(tmp_path / name)
    seen = np.asarray(images.frame(tmp_path / name))
    assert seen[15, 30].tolist() == [0, 0, 0]
    assert seen[0, 0].tolist() == [255, 255, 255]


@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_a_tiff_on_its_side_is_turned_once(compression: str | None, tmp_path: Path) -> None:
    image = Image.new("RGB", (60, 40), "white")
    image.paste((0, 0, 0), (0, 0, 10, 5))
    exif = image.getexif()
    exif[0x0112] = 6  # a quarter to the right
    image.save(tmp_path / "a.tif", compression=compression, exif=exif)
    turned = images.frame(tmp_path / "a.tif")
    assert turned.size == images.size_of(tmp_path / "a.tif") == (40, 60)
    rows, columns = np.nonzero(np.asarray(turned.convert("L")) < 128)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (0, 9, 35, 39)


def test_pictures_read_side_by_side_leave_warnings_as_they_were(tmp_path: Path) -> None:
    picture().save(tmp_path / "a.tif", save_all=True, append_images=[picture(), picture()])
    before = list(warnings.filters)
    one, other = images.frames(tmp_path / "a.tif"), images.frames(tmp_path / "a.tif")
    for _ in range(3):
        next(one)
        next(other)
    assert list(one) == list(other) == []
    assert warnings.filters == before
