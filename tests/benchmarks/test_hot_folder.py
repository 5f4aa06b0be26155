"""A hot folder with mixed files, killed once."""

import shutil
from pathlib import Path

import pytest

from benchmarks.hot_folder import benchmark

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.slow
def test_benchmark_each_file_is_processed_once(tmp_path: Path) -> None:
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 not a PDF")
    copy = shutil.copy(EXAMPLES / "documents.jsonl", tmp_path / "more.jsonl")
    result = benchmark([EXAMPLES / "documents.jsonl", copy, broken], kills=1, max_seconds=3)
    assert (result["files"], result["done"], result["processed_once"], result["left_in_folder"]) == (3, 2, 3, 0)
    assert "cannot be opened as a PDF" in result["failed"]["002-broken.pdf"]
