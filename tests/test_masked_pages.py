"""The masked language task: which pieces are hidden, and the stream that pages come in."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.encoding import Encoder, load_tokenizer
from formnet.errors import SettingsError, TokenizerError
from formnet.io.readers import read
from formnet.io.writers import write
from formnet.training.masked_lm import Masker, PageStream

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def tokenizer(vocabulary: Path) -> Tokenizer:
    return load_tokenizer(vocabulary)


@pytest.mark.parametrize("whole_words", [True, False])
def test_masking_hides_its_share_and_remembers_it(
    documents: list[Document], tokenizer: Tokenizer, whole_words: bool
) -> None:
    encoded = Encoder(tokenizer)(documents[1])
    masker = Masker(tokenizer, 0.3, whole_words=whole_words)
    hidden = []
    for seed in range(60):
        masked, labels = masker(encoded, np.random.default_rng(seed))
        asked = labels >= 0
        assert (labels[asked] == encoded.token_ids[asked]).all()
        assert (masked.token_ids[~asked] == encoded.token_ids[~asked]).all()
        if whole_words:
            by_word = [set(asked[list(encoded.pieces_of(word))].tolist()) for word in range(encoded.num_words)]
            assert all(len(fates) == 1 for fates in by_word)
        hidden.append((asked.mean(), (masked.token_ids[asked] == masker.mask_id).mean()))
    share, of_it = np.mean(hidden, axis=0)
    assert abs(share - 0.3) < 0.03
    assert abs(of_it - 0.8) < 0.05


def test_masking_needs_a_mask(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\na")
    with pytest.raises(TokenizerError, match="MASK"):
        Masker(load_tokenizer(tmp_path))


def stream(pages: list[Path], tokenizer: Tokenizer, **options: int) -> PageStream:
    return PageStream(pages, Encoder(tokenizer), Masker(tokenizer), 300, shuffle=6, **options)


def test_a_stream_goes_on_where_it_was_cut_off(pages: list[Path], tokenizer: Tokenizer) -> None:
    whole = list(islice(stream(pages, tokenizer), 30))
    later = stream(pages, tokenizer)
    later.passed = 13
    for one, other in zip(whole[13:], islice(later, 17), strict=True):
        assert one.keys() == other.keys()
        assert all(torch.equal(one[name], other[name]) for name in one)


def test_a_stream_goes_through_all_pages_and_ranks_share_them(pages: list[Path], tokenizer: Tokenizer) -> None:
    def seen(rank: int, world: int, round_: int) -> list[str]:
        return [page.id for page in stream(pages, tokenizer, rank=rank, world=world)._round(round_)]

    everything = seen(0, 1, 0)
    assert len(everything) == len(set(everything)) == 2 * (5 * 1 + 4 * 2)  # receipts of one page, invoices of two
    assert sorted(seen(0, 2, 0) + seen(1, 2, 0)) == sorted(everything)
    assert seen(0, 1, 1) != everything
    held = stream(pages, tokenizer, held_out=3)
    assert {page.id for page in held.held_out_pages()}.isdisjoint(page.id for page in held._round(0))


def test_files_end_together_however_long_their_pages_are(tokenizer: Tokenizer, tmp_path: Path) -> None:
    files = []
    for name, words in (("short", 2), ("long", 60)):
        builders = [DocumentBuilder(f"{name}-{i}") for i in range(60)]
        for one in builders:
            one.add_page(["total"] * words, [[i, 0, i + 1, 1] for i in range(words)], 100, 100)
        files.append(tmp_path / f"{name}.jsonl")
        write([one.build() for one in builders], files[-1])
    order = [page.id.partition("-")[0] for page in stream(files, tokenizer)._round(0)]
    assert len(order) == 120
    assert set(order[-30:]) == {"short", "long"}


def test_a_stream_without_pages_ends_in_words(tokenizer: Tokenizer) -> None:
    files = [ROOT / "examples/documents.jsonl"]
    empty = PageStream(files, Encoder(tokenizer), Masker(tokenizer, 0.3), 512, held_out=99)
    with pytest.raises(SettingsError, match="no pages with words are left"):
        next(iter(empty))


def test_parquet_gives_the_same_pages(tmp_path: Path, documents: list[Document]) -> None:
    pyarrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [{"id": d.id, "pages": d.to_json()["pages"]} for d in documents]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "pages.parquet")
    for one, other in zip(documents, read(tmp_path / "pages.parquet"), strict=True):
        assert one.pages == other.pages
