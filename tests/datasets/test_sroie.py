from collections import Counter
from pathlib import Path

import pytest

from formnet.datasets import open_corpus
from formnet.datasets.sroie import _decode


@pytest.mark.parametrize(("split", "lines", "images"), [("train", 33_626, 0), ("test", 18_705, 50)])
def test_sroie_lines_and_images_match_counts(data: Path, split: str, lines: int, images: int) -> None:
    corpus = open_corpus(f"sroie:{data}/sroie@{split}")
    rows = (row for file in corpus.sources(split) for row in _decode(file.read_bytes()).splitlines())
    assert sum(bool(row.strip()) for row in rows) == lines
    assert sum(document.pages[0].image is not None for document in corpus) == images


def test_sroie_test_split_has_all_fields(data: Path) -> None:
    fields = Counter(name for d in open_corpus(f"sroie:{data}/sroie@test") for name in d.fields)
    assert fields == dict.fromkeys(("company", "date", "address", "total"), 347)
