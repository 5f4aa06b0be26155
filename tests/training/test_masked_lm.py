"""Token masking, and the stream of pages."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.encoding import Encoder, load_tokenizer
from formnet.errors import SettingsError, TokenizerError
from formnet.io.writers import write
from formnet.training.masked_lm import Masker, PageStream
from formnet.training.page_split import read_pages
from small_runs import EXAMPLES


@pytest.fixture(scope="session")
def tokenizer(vocabulary: Path) -> Tokenizer:
    return load_tokenizer(vocabulary)


@pytest.mark.parametrize("whole_words", [True, False])
def test_masker_masks_share_and_returns_labels(
    documents: list[Document], tokenizer: Tokenizer, whole_words: bool
) -> None:
    encoded = Encoder(tokenizer)(documents[1])
    masker = Masker(tokenizer, 0.3, whole_words=whole_words)
    shares = []
    for seed in range(60):
        masked, labels = masker(encoded, np.random.default_rng(seed))
        predicted = labels >= 0
        assert (labels[predicted] == encoded.token_ids[predicted]).all()
        assert (masked.token_ids[~predicted] == encoded.token_ids[~predicted]).all()
        if whole_words:
            by_word = [set(predicted[list(encoded.word_to_tokens(word))].tolist()) for word in range(encoded.num_words)]
            assert all(len(values) == 1 for values in by_word)
        shares.append((predicted.mean(), (masked.token_ids[predicted] == masker.mask_id).mean()))
    predicted_share, masked_share = np.mean(shares, axis=0)
    assert abs(predicted_share - 0.3) < 0.03
    assert abs(masked_share - 0.8) < 0.05


def test_masker_without_mask_token_raises(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\na")
    with pytest.raises(TokenizerError, match="MASK"):
        Masker(load_tokenizer(tmp_path))


def make_stream(pages: list[Path], tokenizer: Tokenizer, **options: Any) -> PageStream:
    return PageStream(pages, Encoder(tokenizer), Masker(tokenizer), 300, shuffle_buffer=6, **options)


def test_page_stream_skip_batches_yields_the_remaining_ones(pages: list[Path], tokenizer: Tokenizer) -> None:
    expected = list(islice(make_stream(pages, tokenizer), 30))
    resumed = make_stream(pages, tokenizer)
    resumed.skip_batches = 13
    for one, other in zip(expected[13:], islice(resumed, 17), strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_page_stream_epoch_covers_all_pages_across_ranks(pages: list[Path], tokenizer: Tokenizer) -> None:
    def page_ids(rank: int, num_processes: int, epoch: int) -> list[str]:
        stream = make_stream(pages, tokenizer, rank=rank, num_processes=num_processes)
        return [page.id for page in stream._epoch(epoch)]

    all_ids = page_ids(0, 1, 0)
    assert len(all_ids) == len(set(all_ids)) == 2 * (5 * 1 + 4 * 2)  # receipts of one page, invoices of two
    assert sorted(page_ids(0, 2, 0) + page_ids(1, 2, 0)) == sorted(all_ids)
    assert page_ids(0, 1, 1) != all_ids
    left_out = [(str(pages[0]), page_id) for page_id in all_ids if page_id.startswith("a")]
    kept = [page.id for page in make_stream(pages, tokenizer, left_out=left_out)._epoch(0)]
    assert sorted(kept) == sorted(page_id for page_id in all_ids if page_id.startswith("b"))


def test_page_stream_files_with_different_page_lengths_end_together(tokenizer: Tokenizer, tmp_path: Path) -> None:
    files = []
    for name, words in (("short", 2), ("long", 60)):
        builders = [DocumentBuilder(f"{name}-{i}") for i in range(60)]
        for builder in builders:
            builder.add_page(["total"] * words, [[i, 0, i + 1, 1] for i in range(words)], 100, 100)
        files.append(tmp_path / f"{name}.jsonl")
        write([builder.build() for builder in builders], files[-1])
    order = [page.id.partition("-")[0] for page in make_stream(files, tokenizer)._epoch(0)]
    assert len(order) == 120
    assert set(order[-30:]) == {"short", "long"}


def test_page_stream_all_pages_left_out_raises(tokenizer: Tokenizer) -> None:
    left_out = [(str(EXAMPLES), page.id) for page in read_pages(EXAMPLES)]
    empty = PageStream([EXAMPLES], Encoder(tokenizer), Masker(tokenizer, 0.3), 512, left_out=left_out)
    with pytest.raises(SettingsError, match="no pages with words are left"):
        next(iter(empty))
