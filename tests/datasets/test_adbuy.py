from pathlib import Path

import pytest

from formnet.datasets import open_corpus

pytestmark = pytest.mark.slow


def test_adbuy_train_values_match_count(data: Path) -> None:
    values = sum(len(d.fields) for d in open_corpus(f"adbuy:{data}/adbuy@train"))
    assert values == 1_992


def test_adbuy_longest_document_is_complete(data: Path) -> None:
    longest = max(d.num_words for split in ("train", "test") for d in open_corpus(f"adbuy:{data}/adbuy@{split}"))
    assert longest == 11_529


def test_adbuy_rotated_pages_keep_right_columns(data: Path) -> None:
    """On rotated pages a fifth of the words lie beyond the given width; none may be clipped to the edge."""
    corpus = open_corpus(f"adbuy:{data}/adbuy@train")
    clipped = sum("without area" in repair.kind for document in corpus for repair in document.repairs)
    assert clipped == 0
