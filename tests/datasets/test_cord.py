from pathlib import Path

import pytest

from formnet.datasets import open_corpus
from formnet.datasets.cord import CATEGORIES
from formnet.errors import CorpusError


def test_cord_boxes_outside_page_are_clipped(data: Path) -> None:
    def clipped(split: str) -> int:
        documents = open_corpus(f"cord:{data}/cord@{split}")
        return sum("clipped" in repair.kind for document in documents for repair in document.repairs)

    assert (clipped("train"), clipped("dev"), clipped("test")) == (16, 0, 3)


def test_cord_v2_has_words_and_categories_of_v1(data: Path) -> None:
    v1_texts = {tuple(sorted(d.texts)) for d in open_corpus(f"cord:{data}/cord@validation")}
    v2 = list(open_corpus(f"cord:{data}/cord/v2-validation.csv"))
    assert {tuple(sorted(d.texts)) for d in v2} == v1_texts
    assert {e.label for d in v2 for e in d.entities} <= set(CATEGORIES)


def test_cord_csv_with_other_columns_raises(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(CorpusError, match="columns"):
        list(open_corpus(f"cord:{tmp_path / 'x.csv'}"))
