import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from command_line import run_command
from formnet.datasets import open_corpus
from formnet.io.ocr import find_engine
from formnet.io.readers import read_one
from formnet.training.synthetic import generate_receipt
from formnet.training.synthetic.draw import draw_page


def test_draw_page_words_are_darker_than_paper() -> None:
    page = generate_receipt(3).pages[0]
    pixels = np.asarray(draw_page(page, np.random.default_rng(0)), np.float64)
    scale = pixels.shape[1] / page.width
    x0, y0, x1, y1 = (page.boxes[0] * scale).round().astype(int)
    assert pixels[y0:y1, x0:x1].min() < 120
    assert np.median(pixels) > 200


@pytest.mark.ocr
def test_draw_page_ocr_reads_most_words(tmp_path: Path) -> None:
    pytest.importorskip("rapidocr")
    document = generate_receipt(3)
    draw_page(document.pages[0], np.random.default_rng(0)).save(tmp_path / "receipt.png")
    read = read_one(tmp_path / "receipt.png", ocr=find_engine("rapidocr"))
    printed, found = ("".join(d.texts).casefold() for d in (document, read))
    words = [word.casefold() for word in document.texts if len(word) > 3 and word.isalnum()]
    assert sum(word in found for word in words) >= 0.8 * len(words), (printed, found)


def test_data_generate_writes_documents_and_images(tmp_path: Path) -> None:
    file, images = tmp_path / "receipts.jsonl", tmp_path / "images"
    output = run_command("data", "generate", str(file), "--count", "3", "--seed", "5", "--images", str(images))
    assert "3 receipts" in output
    assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == [f"receipt-{n:06}" for n in (5, 6, 7)]
    assert list(open_corpus(f"jsonl:{file}")) == [generate_receipt(n) for n in (5, 6, 7)]
    assert sorted(path.name for path in images.iterdir()) == [f"receipt-{n:06}.png" for n in (5, 6, 7)]
    with Image.open(images / "receipt-000005.png") as image:
        assert image.mode == "L"
