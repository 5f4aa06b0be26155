from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import torch
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.encoding import Encoder, load_tokenizer
from formnet.errors import SettingsError
from formnet.io.limits import ReadLimits
from formnet.io.readers import jsonl
from formnet.io.writers import write
from formnet.training.masked_lm import Masker
from formnet.training.page_split import read_pages
from formnet.training.page_stream import PageStream
from page_epochs import read_epoch
from small_runs import EXAMPLES


@pytest.fixture(scope="session")
def tokenizer(vocabulary: Path) -> Tokenizer:
    return load_tokenizer(vocabulary)


def make_stream(pages: list[Path], tokenizer: Tokenizer, **options: Any) -> PageStream:
    return PageStream(pages, Encoder(tokenizer), Masker(tokenizer), 300, shuffle_buffer=6, **options)


def test_page_stream_skip_batches_yields_the_remaining_ones(pages: list[Path], tokenizer: Tokenizer) -> None:
    expected = list(islice(make_stream(pages, tokenizer), 30))
    resumed = make_stream(pages, tokenizer)
    resumed.skip_batches = 13
    for one, other in zip(expected[13:], islice(resumed, 17), strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("batches", [1, 13, 29])
def test_page_stream_resume_continues_without_parsing_earlier_documents(
    pages: list[Path], tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    parsed: list[str] = []
    original = jsonl.parse

    def parse(line: jsonl.Line, limits: ReadLimits) -> Document:
        parsed.append(str(line))
        return original(line, limits)

    monkeypatch.setattr(jsonl, "parse", parse)
    options = {"raster": 0.5, "rank": 1, "num_processes": 2}
    expected = list(islice(make_stream(pages, tokenizer, **options), 45))
    parsed_from_start = len(parsed)
    stopped = make_stream(pages, tokenizer, **options)
    list(islice(stopped, batches + 2))  # the Trainer fetches batches ahead
    stopped.save_positions(tmp_path)
    resumed = make_stream(pages, tokenizer, **options)
    resumed.resume(tmp_path, batches)
    parsed.clear()
    for one, other in zip(expected[batches:], islice(resumed, 45 - batches), strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)
    assert len(parsed) <= parsed_from_start * (45 - batches) / 45 + 12  # a chunk, of two processes


def test_page_stream_epoch_covers_all_pages_across_ranks(pages: list[Path], tokenizer: Tokenizer) -> None:
    def page_ids(rank: int, num_processes: int, epoch: int) -> list[str]:
        stream = make_stream(pages, tokenizer, rank=rank, num_processes=num_processes)
        return [page.id for page in read_epoch(stream, epoch)]

    all_ids = page_ids(0, 1, 0)
    assert len(all_ids) == len(set(all_ids)) == 2 * (5 * 1 + 4 * 2)  # receipts of one page, invoices of two
    assert sorted(page_ids(0, 2, 0) + page_ids(1, 2, 0)) == sorted(all_ids)
    assert page_ids(0, 1, 1) != all_ids
    left_out = [(pages[0].name, page_id) for page_id in all_ids if page_id.startswith("a")]
    kept = [page.id for page in read_epoch(make_stream(pages, tokenizer, left_out=left_out))]
    assert sorted(kept) == sorted(page_id for page_id in all_ids if page_id.startswith("b"))


def test_page_stream_files_with_different_page_lengths_end_together(tokenizer: Tokenizer, tmp_path: Path) -> None:
    files = []
    for name, words in (("short", 2), ("long", 60)):
        builders = [DocumentBuilder(f"{name}-{i}") for i in range(60)]
        for builder in builders:
            builder.add_page(["total"] * words, [[i, 0, i + 1, 1] for i in range(words)], 100, 100)
        files.append(tmp_path / f"{name}.jsonl")
        write([builder.build() for builder in builders], files[-1])
    order = [page.id.partition("-")[0] for page in read_epoch(make_stream(files, tokenizer))]
    assert len(order) == 120
    assert set(order[-30:]) == {"short", "long"}


def test_page_stream_all_pages_left_out_raises(tokenizer: Tokenizer) -> None:
    left_out = [(EXAMPLES.name, page.id) for page in read_pages(EXAMPLES)]
    empty = PageStream([EXAMPLES], Encoder(tokenizer), Masker(tokenizer, 0.3), 512, left_out=left_out)
    with pytest.raises(SettingsError, match="no pages with words are left"):
        next(iter(empty))
