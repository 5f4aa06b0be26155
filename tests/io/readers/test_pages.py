from pathlib import Path

import pytest

from ocr_files import ALTO, HOCR, PAGE, read_single, write_file


def test_build_document_pages_of_one_image_are_its_frames(tmp_path: Path) -> None:
    (tmp_path / "scan.tif").touch()
    (tmp_path / "last.tif").touch()
    names = ("scan.tif", "scan.tif", "last.tif")
    text = "".join(f"<div class=ocr_page title='image {name}; bbox 0 0 9 9'></div>" for name in names)
    assert [(p.image and p.image.name, p.frame) for p in read_single(write_file(tmp_path, text)).pages] == [
        ("scan.tif", 0),
        ("scan.tif", 1),
        ("last.tif", 0),
    ]


@pytest.mark.parametrize(
    "name", ["../secret.png", "..\\secret.png", "/etc/passwd", "file:///etc/passwd", "..", "sub/.."]
)
def test_find_image_outside_directory_is_none(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "secret.png").touch()
    for text in (
        HOCR.replace("scans/scan.png", name),
        ALTO.format(version=3).replace("C:\\scans\\scan.png", name),
        PAGE.format(year="2019-07-15").replace("../other/scan.png", name),
    ):
        assert all(page.image is None for page in read_single(write_file(folder, text)).pages)


@pytest.mark.parametrize("name", ["x" * 5000 + ".png", "a&#0;b", "\u2028", "scan.png?"])
def test_find_image_invalid_name_is_none(name: str, tmp_path: Path) -> None:
    assert read_single(write_file(tmp_path, HOCR.replace("scans/scan.png", name))).pages[0].image is None
