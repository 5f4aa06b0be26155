import pytest
from PIL import Image

from formnet.errors import OcrError
from formnet.io import ocr
from formnet.io.ocr import find_engine
from formnet.io.ocr.tesseract import Engine, parse_tsv
from paper import picture

needs_tesseract = pytest.mark.skipif(not ocr.is_installed("tesseract"), reason="tesseract is not installed")


@needs_tesseract
@pytest.mark.ocr
def test_tesseract_timeout_or_failure_raises() -> None:
    with pytest.raises(OcrError, match="timed out after"):
        Engine(timeout=0.001).read(picture())
    with pytest.raises(OcrError, match="tesseract failed"):
        Engine(language="klingon").read(picture())


@needs_tesseract
@pytest.mark.ocr
def test_tesseract_very_long_receipt_is_read() -> None:
    receipt = Image.new("RGB", (400, 17_000), "white")
    receipt.paste(picture(), (0, 8_000))
    assert find_engine("tesseract").read(receipt).texts


def test_parse_tsv_keeps_quotes_and_skips_lines_and_blanks() -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    word, line = '5\t1\t1\t1\t1\t1\t20\t40\t60\t10\t95.5\t"Total\n', "4\t1\t1\t1\t1\t0\t0\t0\t9\t9\t-1\t\n"
    blank = "5\t1\t1\t1\t1\t2\t1\t1\t1\t1\t-1\t \n"
    result = parse_tsv(head + word + line + blank, scale=2)
    assert (result.texts, result.boxes, result.confidences) == (['"Total'], [(10, 20, 40, 25)], [0.955])
