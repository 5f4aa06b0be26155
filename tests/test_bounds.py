"""What hostile or broken input may cost: words without end, pages within pages, messages that quote all of it."""

import time
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from formnet.datasets import open_corpus
from formnet.document.builder import MAX_REPAIRS, DocumentBuilder
from formnet.encoding import load_tokenizer
from formnet.encoding.graph import beta_skeleton
from formnet.encoding.tokenizer import MAX_WORD_LENGTH, tokenize_words
from formnet.errors import MAX_MESSAGE_LENGTH, CorpusError, DocumentError, FormNetError


@pytest.fixture
def tokenizer(tmp_path: Path) -> Tokenizer:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n.\n")
    return load_tokenizer(tmp_path / "vocab.txt")


def test_a_word_without_end_has_an_end(tokenizer: Tokenizer) -> None:
    pieces = tokenize_words(tokenizer, ["." * 1_000_000, "."])
    assert np.bincount(pieces.word_ids).tolist() == [MAX_WORD_LENGTH, 1]


@pytest.mark.parametrize("far", [(10_000, 2**20), (2**20, 1), (2**20, 2**20)])
def test_a_line_and_a_point_far_from_it_take_no_time(far: tuple[int, int]) -> None:
    points = np.array([*([i, 0] for i in range(20_000)), far])
    start = time.perf_counter()
    assert beta_skeleton(points).shape[1] >= 20_000
    assert time.perf_counter() - start < 5


@pytest.mark.parametrize("slope", [0, 1, 3])
def test_words_on_one_line_are_a_chain(slope: int) -> None:
    along = np.random.default_rng(0).permutation(20_000).astype(np.int64)
    points = np.stack([along, slope * along], axis=1)
    edges = beta_skeleton(points)
    assert edges.shape == (2, len(points) - 1)
    assert (np.abs(along[edges[0]] - along[edges[1]]) == 1).all()


def test_messages_quote_no_more_than_is_read() -> None:
    builder = DocumentBuilder("a")
    with pytest.raises(DocumentError) as told:
        builder.add_page(["\0" * 1_000_000], [[float("nan"), 0, 1, 1]])
    assert len(str(told.value)) <= MAX_MESSAGE_LENGTH + 1
    assert str(FormNetError("short")) == "short"


def test_repairs_are_not_remembered_without_end() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(["x"] * 20_000, [[9, 9, 0, 0]] * 20_000, 10, 10)
    assert len(builder.build().repairs) == MAX_REPAIRS


def test_two_files_of_one_split_are_a_mistake(tmp_path: Path) -> None:
    for names, kind in ((("train.csv", "train.tsv"), "values"), (("t.json", "t.label-studio.json"), "label_studio")):
        for name in names:
            (tmp_path / name).write_text("[]" if kind == "label_studio" else "file,total\n")
        with pytest.raises(CorpusError, match="remove one"):
            open_corpus(f"{kind}:{tmp_path}")
        for name in names:
            (tmp_path / name).unlink()


def test_repairs_are_bounded_whatever_is_mended() -> None:
    builder = DocumentBuilder("a")
    builder.add_page(["w"], [[0, 0, 1, 1]], 9, 9)
    builder.add_entity("a", [0])
    builder.add_entity("b", [0])
    for _ in range(MAX_REPAIRS + 50):
        builder.add_link(0, 1)
    assert len(builder.build().repairs) == MAX_REPAIRS
