import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from formnet.io.isolation import ReadResult
from formnet.scale.service.errors import ApiError
from formnet.scale.service.reader import Reader, Upload
from formnet.scale.service.settings import ServiceSettings
from paper import text_pdf
from plain_documents import documents
from poison import CRASH, HANG, draw

HELPERS = Path(__file__).parents[2] / "helpers"


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    settings = ServiceSettings(ocr="poison:Engine", max_pages=2, max_words=50, timeout=8)
    reader = Reader(settings)
    yield reader
    reader.close()


def read(reader: Reader, name: str, content: bytes, *, images: bool = False) -> ReadResult | ApiError:
    return asyncio.run(reader.read(Upload(name, content), images))


def png(color: tuple[int, int, int], folder: Path) -> bytes:
    draw(color).save(folder / "image.png")
    return (folder / "image.png").read_bytes()


def test_read_returns_document_with_images_of_its_own_pages_only(reader: Reader, tmp_path: Path) -> None:
    result = read(reader, "invoice.pdf", text_pdf(), images=True)
    assert isinstance(result, ReadResult)
    assert result.document.id == "invoice.pdf"
    assert all(page.image is None for page in result.document.pages)
    assert [str(image).split(";")[0] for image in result.images] == ["data:image/jpeg"]
    (tmp_path / "secret.png").write_bytes(png(CRASH, tmp_path))
    document = next(iter(documents(1))).to_json()
    document["pages"][0]["image"] = str(tmp_path / "secret.png")
    result = read(reader, "a.json", json.dumps(document).encode(), images=True)
    assert isinstance(result, ReadResult)
    assert result.images == (None,)
    assert result.document.pages[0].image is None


def test_read_errors_refer_to_the_name_of_the_upload(reader: Reader, tmp_path: Path) -> None:
    lines = "\n".join(json.dumps(document.to_json()) for document in documents(2))
    for name, content, status, message in (
        ("empty.pdf", b"", 422, "empty.pdf: file is empty."),
        ("three.pdf", text_pdf([("a",)] * 3), 413, "three.pdf: 3 pages (limit 2)"),
        ("words.pdf", text_pdf([("a a a",) * 17]), 413, "words.pdf: 51 words (limit 50)"),
        ("two.jsonl", lines.encode(), 422, "two.jsonl: holds several documents"),
        ("crash.png", png(CRASH, tmp_path), 422, "crash.png: crashed the process that read it"),
        ("hang.png", png(HANG, tmp_path), 422, "hang.png: reading took longer than 8 seconds (the limit)"),
    ):
        error = read(reader, name, content)
        assert isinstance(error, ApiError), name
        assert error.status == status
        assert error.message.startswith(message)
    assert isinstance(read(reader, "invoice.pdf", text_pdf()), ReadResult)


@pytest.mark.skipif(sys.platform != "linux", reason="files without a name are supported on Linux only")
def test_read_never_writes_an_upload_under_a_name(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def record(path: Path, **_: object) -> ReadResult:
        assert path.read_bytes() == b"content"
        seen.append(str(path.readlink()))
        raise AssertionError

    monkeypatch.setattr(reader.reader, "read_one", record)
    read(reader, "a.pdf", b"content")
    assert seen[0].startswith(f"/proc/{os.getpid()}/fd/")
    assert not list(Path(reader.folder.name).iterdir())


def test_reader_removes_the_folders_of_killed_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    ended = subprocess.Popen(["true"])
    ended.wait()
    stale, running, other = (tmp_path / f"formnet-{part}" for part in (f"{ended.pid}-a", f"{os.getpid()}-b", "notes"))
    for folder in (stale, running, other):
        folder.mkdir()
    reader = Reader(ServiceSettings(ocr="poison:Engine"))
    assert not stale.exists()
    assert running.exists()
    assert other.exists()
    reader.close()
    assert sorted(tmp_path.iterdir()) == sorted([running, other])
