from pathlib import Path
from typing import Any

import pytest

from formnet.io.readers import read
from ocr_files import ALTO, change_alto, check_raises, read_single, write_file


@pytest.mark.parametrize("version", [2, 3, 4])
def test_read_alto_returns_words_and_pages(version: int, tmp_path: Path) -> None:
    (tmp_path / "scan.png").touch()
    document = read_single(write_file(tmp_path, ALTO.format(version=version)))
    page, empty = document.pages
    assert page.texts == ("Rech", "Nr.", "7")
    assert page.boxes.tolist() == [[100, 200, 180, 220], [200, 200, 230, 220], [240, 200, 250, 220]]
    assert (page.width, page.height, page.text_source) == (2100, 2970, "ALTO")
    assert page.confidences is not None
    assert page.confidences.tolist() == [0.5, 1, 1]
    assert (page.image, page.frame) == (tmp_path / "scan.png", 0)
    assert (empty.texts, empty.frame) == ((), 1)


def test_read_alto_nested_pages_are_read_once(tmp_path: Path) -> None:
    word = '<String CONTENT="a" HPOS="1" VPOS="1" WIDTH="5" HEIGHT="5"/>'
    page = f'<Page WIDTH="10" HEIGHT="10">{word}'
    (tmp_path / "a.xml").write_text(f"<alto><Layout>{page * 20}{'</Page>' * 20}</Layout></alto>")
    (document,) = read(tmp_path / "a.xml")
    assert (len(document.pages), document.num_words) == (1, 20)


INVALID: list[tuple[Any, str]] = [
    ("<alto/>", "has no pages"),
    ("<alto>", "not well-formed"),
    (ALTO.format(version=3)[:-20], "not well-formed"),
    (change_alto('HPOS="100"', 'HPOS="left"'), "HPOS must be a number"),
    (change_alto('HPOS="100" ', ""), "has no HPOS"),
    (change_alto('HEIGHT="20" WC="0.5"', 'HEIGHT="inf"'), "HEIGHT must be a number"),
    (change_alto('CONTENT="Rech" ', ""), "has no CONTENT"),
    (change_alto('WC="0.5"', 'WC="7"'), "not between 0 and 1"),
    (change_alto('WIDTH="2100"', 'WIDTH="0"'), "invalid page size"),
    (change_alto('WIDTH="2100"', 'WIDTH="A4"'), "WIDTH must be a number"),
    (b"<?xml version='1.0' encoding='nonsense'?><alto/>", "not well-formed"),
    (b"<?xml version='1.0' encoding='shift_jis'?><alto/>", "not well-formed"),
    (b"<alto>\xff</alto>", "not well-formed"),
]


@pytest.mark.parametrize(("content", "message"), INVALID, ids=[message for _, message in INVALID])
def test_read_alto_invalid_raises(content: Any, message: str, tmp_path: Path) -> None:
    check_raises(write_file(tmp_path, content), message)
