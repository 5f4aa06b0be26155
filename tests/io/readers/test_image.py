import zlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from formnet.errors import LimitError
from formnet.extraction.output import to_output
from formnet.extraction.schema import Schema
from formnet.io.images import turn
from formnet.io.page_image import load_page_image
from ocr_engines import ENGINE_PARAMS, BlankEngine
from ocr_files import read_single
from paper import LINES, picture

WORDS = tuple(" ".join(LINES).split())


@pytest.mark.ocr
@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINE_PARAMS)
@pytest.mark.parametrize("suffix", [".png", ".jpg", ".tif", ".webp"])
def test_read_image_uses_ocr(tmp_path: Path, engine: str, suffix: str) -> None:
    file = tmp_path / f"a{suffix}"
    picture().save(file)
    document = read_single(file, engine)
    assert document.texts == WORDS
    assert document.pages[0].text_source.startswith(engine)


def test_read_image_tiff_has_one_page_per_frame(tmp_path: Path) -> None:
    file = tmp_path / "two.tif"
    picture().save(file, save_all=True, append_images=[picture(("Second page",), (400, 300))])
    document = read_single(file, BlankEngine())
    assert [(page.width, page.height) for page in document.pages] == [(600, 800), (400, 300)]
    assert load_page_image(document.pages[1]).size == (400, 300)


def test_read_image_exif_rotation_is_applied(tmp_path: Path) -> None:
    file = tmp_path / "turned.jpg"
    exif = Image.Exif()
    exif[0x0112] = 6  # rotate by 90 degrees clockwise
    picture().transpose(Image.Transpose.ROTATE_90).save(file, exif=exif)
    page = read_single(file, BlankEngine()).pages[0]
    assert (page.width, page.height) == (600, 800)
    difference = np.asarray(load_page_image(page).convert("L"), float) - np.asarray(picture().convert("L"), float)
    assert np.abs(difference).mean() < 3


@pytest.mark.ocr
@pytest.mark.slow
@pytest.mark.parametrize("degrees", [90, 180, 270])
@pytest.mark.parametrize("engine", ENGINE_PARAMS)
def test_read_image_that_is_not_upright_is_set_upright(engine: str, degrees: int, tmp_path: Path) -> None:
    upright, turned = tmp_path / "upright.png", tmp_path / "turned.png"
    picture().save(upright)
    turn(picture(), degrees).save(turned)
    (expected,) = read_single(upright, engine).pages
    document = read_single(turned, engine)
    (page,) = document.pages
    assert page.texts == expected.texts == WORDS
    assert np.array_equal(page.boxes, expected.boxes)
    assert (page.width, page.height, page.rotation) == (600, 800, 360 - degrees)
    assert load_page_image(page) == picture()
    shown = document.turn_back()
    assert load_page_image(shown.pages[0]) == turn(picture(), degrees)
    box = tuple(shown.pages[0].boxes[0].round().astype(int).tolist())
    assert np.asarray(turn(picture(), degrees).crop(box).convert("L")).min() == 0  # the first word is there
    annotated = replace(document, entities=(document.entity("shop", [0]),))
    output = to_output(annotated, Schema(fields=()))
    assert (output.pages[0].width, output.pages[0].rotation) == (turn(picture(), degrees).width, 360 - degrees)
    assert output.entities[0].boxes == [pytest.approx(shown.pages[0].boxes[0].tolist())]


def write_decompression_bomb(path: Path) -> Path:
    """Write a PNG of 40,000 × 40,000 pixels in a few bytes."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4) + name + body + zlib.crc32(name + body).to_bytes(4)

    header = (40_000).to_bytes(4) * 2 + bytes([8, 2, 0, 0, 0])
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    return path


def test_read_image_decompression_bomb_raises(tmp_path: Path) -> None:
    with pytest.raises(LimitError, match="pixels"):
        read_single(write_decompression_bomb(tmp_path / "bomb.png"), BlankEngine())
