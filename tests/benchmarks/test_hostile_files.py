"""Hostile files, smaller than those of the benchmark, fail within the limits or are read."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.hostile_files import write_hostile_files, write_pdf
from formnet.document import Document
from formnet.errors import FormNetError
from formnet.io.isolation import IsolatedReader, IsolationLimits

TIMEOUT = 15
#: What is expected of each file: a part of the error, or None if it may be read.
EXPECTED = {
    "overlapping-entities.json": "entities have more than 20 times as many words",
    "nested-forms.pdf": None,
    "doubly-compressed.pdf": None,
    "dictionary.parquet": "longer than 4,096 characters",
    "long-word.hocr": None,
    "character-reference.hocr": "cannot be read",
    "many-large-pages.tiff": "pixels (the limit)",
}


@pytest.fixture(scope="module")
def reader() -> Iterator[IsolatedReader]:
    with IsolatedReader("tesseract", isolation=IsolationLimits(TIMEOUT, 2**29)) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory can be limited on Linux only")
def test_isolated_reader_hostile_files_stay_within_limits(reader: IsolatedReader, tmp_path: Path) -> None:
    for file in write_hostile_files(tmp_path, scale=0.1):
        start = time.monotonic()
        try:
            found = list(reader.read_each(file))
        except FormNetError as error:
            found = [error]  # type: ignore[list-item]
        assert time.monotonic() - start < TIMEOUT + 10, file.name
        expected = EXPECTED[file.name]
        for item in found:
            if expected is not None:
                assert expected in str(item), file.name
            elif isinstance(item, Document):
                assert sum(map(len, item.texts)) < 2_000_000
    write_pdf(tmp_path / "good.pdf", ["Total 9.00"])
    (document,) = reader.read_each(tmp_path / "good.pdf")
    assert isinstance(document, Document)
    assert document.texts == ("Total", "9.00")
