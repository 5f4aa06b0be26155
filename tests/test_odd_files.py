"""Files as real tools write them, and as nobody should: previews in photographs, cropped pages, other spellings."""

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from PIL import Image
from pyarrow.parquet import write_table

from formnet.document import Document
from formnet.errors import DocumentError, LimitError
from formnet.extraction import runtime as cores
from formnet.io import images
from formnet.io.readers import read
from formnet.io.readers.jsonl import from_json
from formnet.scale.bulk.storage import storage_path
from ocr_files import amazon, google, only, saved
from paper import text_pdf


def test_a_photograph_with_a_preview_is_one_page(tmp_path: Path) -> None:
    photo, preview = Image.new("RGB", (400, 600), "white"), Image.new("RGB", (40, 60), "white")
    photo.save(tmp_path / "photo.jpg", "MPO", save_all=True, append_images=[preview])
    assert [image.size for image in images.frames(tmp_path / "photo.jpg")] == [(400, 600)]


def test_pictures_cut_short_are_told(tmp_path: Path) -> None:
    file = BytesIO()
    Image.new("P", (40, 40)).save(
        file, "GIF", save_all=True, append_images=[Image.new("P", (40, 40), c) for c in (1, 2)]
    )
    for length in range(1, len(file.getvalue()), 3):
        (tmp_path / "a.gif").write_bytes(file.getvalue()[:length])
        try:
            list(images.frames(tmp_path / "a.gif"))
        except DocumentError:
            continue


def test_pages_of_a_tiff_are_counted_no_further_than_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pages = [Image.new("L", (8, 8))] * 7
    pages[0].save(tmp_path / "a.tiff", save_all=True, append_images=pages[1:])
    assert len(list(images.frames(tmp_path / "a.tiff"))) == 7
    monkeypatch.setattr(images, "MOST_PAGES", 6)
    with pytest.raises(LimitError, match="more than 6 pages"):
        list(images.frames(tmp_path / "a.tiff"))


def test_what_is_cropped_away_is_not_read(tmp_path: Path) -> None:
    whole = text_pdf([("seen", "also seen", "", "", "", "", "", "", "", "", "", "", "", "cut")])
    cropped = whole.replace(b"/MediaBox [0 0 612 792]", b"/MediaBox [0 0 612 792] /CropBox [0 400 612 792]")
    page = only(saved(tmp_path, cropped, "a.pdf")).pages[0]
    assert page.texts == ("seen", "also", "seen")
    assert (page.width, page.height) == (612, 392)


def test_textract_for_receipts(tmp_path: Path) -> None:
    plain = amazon()
    expense = {"DocumentMetadata": {"Pages": 1}, "ExpenseDocuments": [{"ExpenseIndex": 1, "Blocks": plain["Blocks"]}]}
    assert only(saved(tmp_path, expense)).texts == only(saved(tmp_path, plain)).texts


def test_document_ai_as_its_library_writes_it(tmp_path: Path) -> None:
    def snake(data: Any) -> Any:
        if isinstance(data, dict):
            return {re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", key): snake(value) for key, value in data.items()}
        return [snake(item) for item in data] if isinstance(data, list) else data

    assert only(saved(tmp_path, snake(google()))).pages == only(saved(tmp_path, google())).pages


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig"])
def test_json_in_any_of_its_encodings(encoding: str, tmp_path: Path) -> None:
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    assert only(saved(tmp_path, mark + json.dumps(amazon()).encode(encoding))).num_words == 3


def test_columns_that_are_not_ours_do_no_harm(tmp_path: Path) -> None:
    row = {"id": "a", "schema": None, "words": ["w"], "boxes": [[0.0, 0.0, 1.0, 1.0]], "width": 9.0, "height": 9.0}
    table = pa.Table.from_pylist([row]).append_column("taken", pa.array([2**50], pa.timestamp("s")))
    write_table(table, tmp_path / "a.parquet")
    assert [document.texts for document in read(tmp_path / "a.parquet")] == [("w",)]
    write_table(table.select(["taken"]), tmp_path / "b.parquet")
    with pytest.raises(DocumentError, match="no column of a document"):
        list(read(tmp_path / "b.parquet"))


def test_pages_of_a_document_have_a_limit() -> None:
    page = {"width": 9, "height": 9, "words": ["w"], "boxes": [[0, 0, 1, 1]]}
    with pytest.raises(LimitError, match="2,001 pages"):
        from_json({"id": "a", "pages": [page] * 2_001})
    many = from_json({"id": "a", "pages": [{**page, "confidences": [0.5]}] * 2_000})
    assert isinstance(many, Document)
    assert many.entity("x", [1_999]).ocr_score == 0.5


@pytest.mark.parametrize("name", ["a b.pdf", "a#b.pdf", "a?b.pdf", "a%20b.pdf", "ä.pdf"])
def test_urls_of_files_with_odd_names_lead_to_them(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(name.encode())
    (found,) = storage_path(f"file://{tmp_path}").files()
    again = storage_path(found.address)
    assert again.open().read() == name.encode()
    assert again.path == found.path == str(tmp_path / name)


def test_a_container_s_share_of_cores_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "quota").write_text("-1\n")
    (tmp_path / "period").write_text("100000\n")
    assert cores._allowed((str(tmp_path / "cpu.max"),)) == 2
    assert cores._allowed((str(tmp_path / "quota"), str(tmp_path / "period"))) > 10_000
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert cores._allowed((str(tmp_path / "cpu.max"),)) > 10_000
    monkeypatch.setattr(cores, "_QUOTAS", ((str(tmp_path / "one"),),))
    (tmp_path / "one").write_text("100000 100000")
    assert cores.own_cores() == 1
