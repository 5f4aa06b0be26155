"""Files that crash, hang or exhaust memory fail alone, and the reader goes on."""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from formnet.document import Document
from formnet.errors import DocumentError, FormNetError, LimitError, OcrError, ReaderError
from formnet.io import isolation
from formnet.io.isolation import IsolatedReader, IsolationLimits
from formnet.io.limits import ReadLimits
from formnet.io.readers import read_each
from paper import text_pdf
from plain_documents import documents
from poison import CRASH, HANG, HARMLESS, MEMORY, SLOW, draw

HELPERS = Path(__file__).parents[1] / "helpers"
LIMITS = ReadLimits(max_pages=3)


@pytest.fixture(scope="module")
def reader() -> Iterator[IsolatedReader]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(HELPERS))
        with IsolatedReader("poison:Engine", LIMITS, IsolationLimits(timeout=60, memory=2**29)) as opened:
            yield opened


def read_one(reader: IsolatedReader, path: Path) -> Document:
    (document,) = reader.read_each(path)
    assert isinstance(document, Document)
    return document


def test_isolated_reader_returns_the_same_documents(reader: IsolatedReader, tmp_path: Path) -> None:
    (tmp_path / "invoice.pdf").write_bytes(text_pdf())
    draw(HARMLESS).save(tmp_path / "scan.png")
    lines = [json.dumps(document.to_json()) for document in documents(3)]
    (tmp_path / "many.jsonl").write_text("\n".join([*lines, "no JSON", lines[0]]))
    for name in ("invoice.pdf", "scan.png", "many.jsonl"):
        expected = list(read_each(tmp_path / name, "poison:Engine", LIMITS))
        for found, document in zip(reader.read_each(tmp_path / name), expected, strict=True):
            assert str(found) == str(document)
            assert isinstance(found, DocumentError) or found == document


@pytest.mark.parametrize(
    ("color", "error", "message"),
    [
        (CRASH, DocumentError, "crashed the process that read it"),
        (HANG, LimitError, "reading took longer than 4 seconds"),
        (MEMORY, LimitError, "reading took more than 512 MiB of memory"),
    ],
)
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory can be limited on Linux only")
def test_isolated_reader_goes_on_after_a_harmful_file(
    color: tuple[int, int, int],
    error: type[FormNetError],
    message: str,
    reader: IsolatedReader,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw(color).save(tmp_path / "bad.png")
    draw(HARMLESS).save(tmp_path / "good.png")
    if color == HANG:
        monkeypatch.setattr(reader, "isolation", replace(reader.isolation, timeout=4))
    with pytest.raises(error, match=rf"bad\.png: {message}"):
        read_one(reader, tmp_path / "bad.png")
    monkeypatch.undo()
    assert read_one(reader, tmp_path / "good.png").texts == ("acme", "total", "9.00")


def test_isolated_reader_raises_the_errors_of_readers(reader: IsolatedReader, tmp_path: Path) -> None:
    (tmp_path / "empty.pdf").write_bytes(b"")
    (tmp_path / "long.pdf").write_bytes(text_pdf([("a",)] * 4))
    for name, error, message in (
        ("none.pdf", DocumentError, "no such file"),
        ("empty.pdf", DocumentError, "file is empty"),
        ("long.pdf", LimitError, r"4 pages \(limit 3\)"),
    ):
        with pytest.raises(error, match=rf"{name}: {message}"):
            read_one(reader, tmp_path / name)
    draw(HARMLESS).save(tmp_path / "scan.png")
    with IsolatedReader("nothing:Engine", LIMITS) as other, pytest.raises(OcrError, match="cannot be imported"):
        read_one(other, tmp_path / "scan.png")


def test_isolated_reader_restarts_if_documents_are_left(reader: IsolatedReader, tmp_path: Path) -> None:
    lines = [json.dumps(document.to_json()) for document in documents(9)]
    (tmp_path / "many.jsonl").write_text("\n".join(lines))
    (tmp_path / "one.jsonl").write_text(lines[5])
    stream = reader.read_each(tmp_path / "many.jsonl")
    assert isinstance(next(stream), Document)
    stream.close()
    assert read_one(reader, tmp_path / "one.jsonl").id == json.loads(lines[5])["id"]


@pytest.mark.slow
@pytest.mark.timing
def test_isolated_reader_timeout_is_per_page_with_ocr(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    pages = [draw(SLOW) for _ in range(4)]
    pages[0].save(tmp_path / "scan.tiff", save_all=True, append_images=pages[1:])
    with IsolatedReader("poison:Engine", isolation=IsolationLimits(timeout=1.5)) as reader:
        read_one(reader, tmp_path / "scan.tiff")  # so that modules are imported
        start = time.monotonic()
        assert len(read_one(reader, tmp_path / "scan.tiff").pages) == 4
        assert time.monotonic() - start > 1.5


@pytest.mark.slow
def test_start_of_the_process_does_not_count_as_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import time\ntime.sleep(3)")
    (tmp_path / "one.jsonl").write_text(json.dumps(next(iter(documents(1))).to_json()))
    monkeypatch.syspath_prepend(tmp_path)
    with IsolatedReader(isolation=IsolationLimits(timeout=2)) as reader:
        start = time.monotonic()
        read_one(reader, tmp_path / "one.jsonl")
        assert time.monotonic() - start > 2


def test_reader_killed_before_its_first_file_is_started_again(tmp_path: Path) -> None:
    (tmp_path / "one.jsonl").write_text(json.dumps(next(iter(documents(1))).to_json()))
    with IsolatedReader() as reader:
        reader._child.process.kill()
        assert read_one(reader, tmp_path / "one.jsonl").num_words > 0
        first = reader._child.process.pid
        assert read_one(reader, tmp_path / "one.jsonl").num_words > 0
        assert reader._child.process.pid == first


def test_reader_that_does_not_start_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os\nos._exit(3)")
    (tmp_path / "one.jsonl").write_text(json.dumps(next(iter(documents(1))).to_json()))
    monkeypatch.syspath_prepend(tmp_path)
    with IsolatedReader() as reader, pytest.raises(ReaderError, match=r"one\.jsonl: not read, because the process"):
        read_one(reader, tmp_path / "one.jsonl")


def test_isolated_reader_replaces_process_after_many_files(
    reader: IsolatedReader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(HELPERS))
    monkeypatch.setattr(isolation, "MAX_FILES", 2)
    (tmp_path / "one.jsonl").write_text(json.dumps(next(iter(documents(1))).to_json()))
    processes = set()
    for _ in range(4):
        read_one(reader, tmp_path / "one.jsonl")
        processes.add(reader._child.process.pid)
    assert len(processes) >= 2


def test_isolated_reader_ends_with_its_parent() -> None:
    with IsolatedReader() as reader:
        process = reader._child.process
    start = time.monotonic()
    assert process.wait(5) is not None
    assert time.monotonic() - start < 5


def test_isolated_reader_does_not_pass_on_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMNET_API_KEYS", "a secret key")
    with IsolatedReader() as reader:
        assert "FORMNET_API_KEYS" not in psutil.Process(reader._child.process.pid).environ()
