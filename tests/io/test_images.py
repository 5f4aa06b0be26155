import warnings
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from formnet.errors import DocumentError, LimitError
from formnet.io.images import image_size, iter_frames, load_frame
from formnet.io.limits import ReadLimits
from paper import picture


def test_iter_frames_photo_with_preview_yields_photo_only(tmp_path: Path) -> None:
    photo, preview = Image.new("RGB", (400, 600), "white"), Image.new("RGB", (40, 60), "white")
    photo.save(tmp_path / "photo.jpg", "MPO", save_all=True, append_images=[preview])
    assert [image.size for image in iter_frames(tmp_path / "photo.jpg")] == [(400, 600)]


def test_iter_frames_truncated_gif_raises_only_document_error(tmp_path: Path) -> None:
    file = BytesIO()
    Image.new("P", (40, 40)).save(
        file, "GIF", save_all=True, append_images=[Image.new("P", (40, 40), c) for c in (1, 2)]
    )
    for length in range(1, len(file.getvalue()), 3):
        (tmp_path / "a.gif").write_bytes(file.getvalue()[:length])
        try:
            list(iter_frames(tmp_path / "a.gif"))
        except DocumentError:
            continue


def test_iter_frames_too_many_pages_raises(tmp_path: Path) -> None:
    pages = [Image.new("L", (8, 8))] * 7
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:])
    assert len(list(iter_frames(tmp_path / "a.tiff"))) == 7
    with pytest.raises(LimitError, match="more than 6 pages"):
        list(iter_frames(tmp_path / "a.tiff", ReadLimits(max_pages=6)))
    pixels = pages[0].width * pages[0].height
    assert len(list(iter_frames(tmp_path / "a.tiff", ReadLimits(max_file_pixels=7 * pixels)))) == 7
    with pytest.raises(LimitError, match=r"pixels \(the limit\)\. Split the file"):
        next(iter_frames(tmp_path / "a.tiff", ReadLimits(max_file_pixels=7 * pixels - 1)))


def test_iter_frames_interleaved_restores_warning_filters(tmp_path: Path) -> None:
    picture().save(tmp_path / "a.tif", save_all=True, append_images=[picture(), picture()])
    before = list(warnings.filters)
    first, second = iter_frames(tmp_path / "a.tif"), iter_frames(tmp_path / "a.tif")
    for _ in range(3):
        next(first)
        next(second)
    assert list(first) == list(second) == []
    assert warnings.filters == before


def test_load_frame_transparent_pixels_become_white(tmp_path: Path) -> None:
    file = tmp_path / "clear.png"
    Image.new("RGBA", (50, 50), (0, 0, 0, 0)).save(file)
    assert np.asarray(load_frame(file)).min() == 255


@pytest.mark.parametrize(
    ("dtype", "name"), [("uint16", "a.png"), ("uint16", "a.tif"), ("int32", "b.tif"), ("float32", "c.tif")]
)
def test_load_frame_deep_grayscale_uses_full_contrast(dtype: str, name: str, tmp_path: Path) -> None:
    values = np.full((40, 60), 60_000, dtype)
    values[10:20, 10:50] = 3_000
    Image.fromarray(values).save(tmp_path / name)
    pixels = np.asarray(load_frame(tmp_path / name))
    assert pixels[15, 30].tolist() == [0, 0, 0]
    assert pixels[0, 0].tolist() == [255, 255, 255]


@pytest.mark.parametrize("compression", [None, "tiff_lzw"])
def test_load_frame_sideways_tiff_is_rotated_once(compression: str | None, tmp_path: Path) -> None:
    image = Image.new("RGB", (60, 40), "white")
    image.paste((0, 0, 0), (0, 0, 10, 5))
    exif = image.getexif()
    exif[0x0112] = 6  # rotate by 90 degrees clockwise
    image.save(tmp_path / "a.tif", compression=compression, exif=exif)
    rotated = load_frame(tmp_path / "a.tif")
    assert rotated.size == image_size(tmp_path / "a.tif") == (40, 60)
    rows, columns = np.nonzero(np.asarray(rotated.convert("L")) < 128)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (0, 9, 35, 39)


def test_image_size_sideways_jpeg_is_size_after_rotation(tmp_path: Path) -> None:
    image = Image.new("RGB", (40, 20))
    exif = image.getexif()
    exif[0x0112] = 6
    image.save(tmp_path / "a.jpg", exif=exif)
    assert image_size(tmp_path / "a.jpg") == (20, 40)
    image.save(tmp_path / "b.png")
    assert image_size(tmp_path / "b.png") == (40, 20)
    assert image_size(tmp_path / "none.png") is None
