import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.pre_tokenizers import Whitespace

from formnet.datasets import open_corpus
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import TagScheme
from formnet.encoding import EncodedDocument, Encoder, buckets, collate, load_tokenizer, uncollate
from formnet.encoding.encoder import PAGE_GAP
from formnet.encoding.tokenizer import cut, padding_id, unknown_id
from formnet.errors import TokenizerError

VOCABULARY = ["[PAD]", "[UNK]", "a", "##a", "b", "##b", "total", "##s", "9", ".", "0", "##0", "中", "é"]


@pytest.fixture(scope="session")
def small_vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def small(small_vocabulary: Path) -> Tokenizer:
    return load_tokenizer(small_vocabulary)


@pytest.fixture(scope="session", params=["bert-base-multilingual-cased", "bert-base-uncased"])
def real(request: pytest.FixtureRequest, data: Path) -> Tokenizer:
    return load_tokenizer(data / "vocab" / f"{request.param}-vocab.txt")


def form(texts: list[str], pages: int = 1) -> Document:
    builder = DocumentBuilder("form")
    for _ in range(pages):
        builder.add_page(texts, [[i * 20, 5, i * 20 + 12, 15] for i in range(len(texts))], 20 * len(texts) + 20, 40)
    return builder.build()


def same(one: EncodedDocument, other: EncodedDocument) -> bool:
    def equal(a: object, b: object) -> bool:
        if isinstance(a, np.ndarray):
            return isinstance(b, np.ndarray) and a.dtype == b.dtype and np.array_equal(a, b)
        return a == b

    return all(equal(value, vars(other)[name]) for name, value in vars(one).items())


def check_word_map(encoded: EncodedDocument, words: int) -> None:
    assert encoded.num_words == words
    assert len(set(encoded.word_ids.tolist())) == words  # none without a piece
    back = [piece for word in range(words) for piece in encoded.pieces_of(word)]
    assert back == list(range(len(encoded)))  # pieces → words → pieces
    for word in range(words):
        assert (encoded.word_ids[list(encoded.pieces_of(word))] == word).all()


strange = ["", " ", "😀", "中文字", "a" * 5_000, "\u200b", "\x00", "👩‍👩‍👧‍👧", "é" * 3, "­", "total", "...", "‮", "𝔉𝔬𝔯𝔪"]


def test_every_strange_word_keeps_a_piece(real: Tokenizer) -> None:
    pieces = cut(real, strange)
    assert sorted(set(pieces.word.tolist())) == list(range(len(strange)))
    assert (np.diff(pieces.word) >= 0).all()
    assert (pieces.length >= 1).all()


@given(st.lists(st.text(max_size=8) | st.sampled_from(strange), min_size=1, max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pieces_to_words_to_pieces(small: Tokenizer, texts: list[str]) -> None:
    document = form([text if text.strip() else "x" for text in texts])
    check_word_map(Encoder(small)(document), len(texts))


@given(st.lists(st.sampled_from(["aab", "total", "totals", "x", "9.00", "中a", ""]), max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_cutting_each_different_word_once_changes_nothing(small: Tokenizer, words: list[str]) -> None:
    pieces = cut(small, words)
    one_by_one = [cut(small, [word]) for word in words]
    assert pieces.ids.tolist() == [i for p in one_by_one for i in p.ids.tolist()]
    assert pieces.length.tolist() == [n for p in one_by_one for n in p.length.tolist()]
    assert pieces.word.tolist() == [w for w, p in enumerate(one_by_one) for _ in p.ids]


def test_pieces_share_the_words_width_by_characters(small: Tokenizer) -> None:
    builder = DocumentBuilder("form")
    builder.add_page(["totals", "9.00"], [[0, 0, 60, 10], [100, 20, 140, 30]], 500, 1000)
    encoded = Encoder(small)(builder.build())
    assert encoded.token_boxes.tolist() == [
        [0, 0, 50, 10],
        [50, 0, 60, 10],
        [100, 20, 110, 30],
        [110, 20, 120, 30],
        [120, 20, 130, 30],
        [130, 20, 140, 30],
    ]
    assert encoded.first_token.tolist() == [0, 2]


def test_pages_are_stacked_and_their_graphs_kept_apart(small: Tokenizer) -> None:
    encoded = Encoder(small)(form(["a", "b", "total"], pages=3))
    tops = encoded.token_boxes[::3, 1]
    assert np.diff(tops).tolist() == pytest.approx([tops[1] - tops[0]] * 2)
    assert tops[1] - tops[0] >= PAGE_GAP
    page = np.arange(9) // 3
    for word, row in enumerate(encoded.neighbors):
        assert (page[row[row >= 0]] == page[word]).all()
        assert (row >= 0).any()


def test_a_document_of_eleven_thousand_words_is_encoded_whole(data: Path, real: Tokenizer) -> None:
    longest = max(open_corpus(f"adbuy:{data}/adbuy@test"), key=lambda document: document.num_words)
    assert longest.num_words > 11_000
    encoded = Encoder(real)(longest)
    assert len(encoded) >= longest.num_words
    check_word_map(encoded, longest.num_words)
    assert (
        np.diff(encoded.token_boxes[encoded.first_token][np.flatnonzero(np.diff(longest.page_of_word)), 1]) > 0
    ).all()


def test_a_batch_gives_each_document_back(data: Path, real: Tokenizer) -> None:
    corpus = open_corpus(f"funsd:{data}/funsd@test")
    encoder = Encoder(real, TagScheme(corpus.entity_types, corpus.untagged))
    documents = [encoder(document) for document, _ in zip(corpus, range(7), strict=False)]
    batch = collate(documents, encoder.padding_id, multiple=64)
    assert batch["input_ids"].shape[1] % 64 == 0
    assert (batch["labels"] == -100).any()
    for before, after in zip(documents, uncollate(batch), strict=True):
        assert same(before, after)


@given(st.lists(st.lists(st.sampled_from(["a", "ab", "totals", "9.00"]), max_size=9), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_batch_gives_each_document_back(small: Tokenizer, batch: list[list[str]]) -> None:
    documents = [Encoder(small)(form(texts)) for texts in batch]
    for before, after in zip(documents, uncollate(collate(documents, 0)), strict=True):
        assert same(before, after)


def test_a_document_without_pages(small: Tokenizer) -> None:
    encoded = Encoder(small)(DocumentBuilder("empty").build())
    assert len(encoded) == encoded.num_words == 0
    assert same(encoded, uncollate(collate([encoded, Encoder(small)(form(["a"]))], 0))[0])


@given(st.lists(st.integers(1, 300), max_size=40), st.none() | st.integers(0, 9))
def test_buckets_hold_every_document_once_within_the_limit(lengths: list[int], seed: int | None) -> None:
    batches = buckets(lengths, 500, seed)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(b) == 1 or max(lengths[i] for i in b) * len(b) <= 500 for b in batches)
    assert batches == buckets(lengths, 500, seed)


def test_buckets_waste_little() -> None:
    lengths = np.random.default_rng(0).integers(20, 600, 800).tolist()
    for seed in (None, 1):
        padded = sum(max(lengths[i] for i in b) * len(b) for b in buckets(lengths, 4096, seed))
        assert padded < 1.1 * sum(lengths)
    assert buckets(lengths, 4096, 1) != buckets(lengths, 4096, 2)


def test_tokenizers_load_from_files_and_folders(small_vocabulary: Path, tmp_path: Path) -> None:
    from transformers import PreTrainedTokenizerFast

    vocabulary = {name: i for i, name in enumerate(VOCABULARY)}
    backend = Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = Whitespace()
    backend.enable_truncation(2)
    PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="[UNK]", pad_token="[PAD]").save_pretrained(tmp_path)
    for source in (small_vocabulary, small_vocabulary.parent, tmp_path, tmp_path / "tokenizer.json"):
        tokenizer = load_tokenizer(source)
        assert (unknown_id(tokenizer), padding_id(tokenizer)) == (1, 0)
        assert len(cut(tokenizer, ["a"] * 9).ids) == 9  # a limit saved with the tokenizer does not cut documents


def test_case_is_taken_from_the_vocabulary(data: Path) -> None:
    cased = load_tokenizer(data / "vocab" / "bert-base-multilingual-cased-vocab.txt")
    uncased = load_tokenizer(data / "vocab" / "bert-base-uncased-vocab.txt")
    assert (cased.get_vocab_size(), uncased.get_vocab_size()) == (119_547, 30_522)
    assert cut(cased, ["Total"]).ids.tolist() != cut(cased, ["total"]).ids.tolist()
    assert cut(uncased, ["Total"]).ids.tolist() == cut(uncased, ["total"]).ids.tolist()


def test_what_is_no_tokenizer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("just\nwords")
    (tmp_path / "bad.json").write_text(json.dumps({"model": 3}))
    (tmp_path / "empty").mkdir()
    shutil.copy(tmp_path / "words.txt", tmp_path / "binary.json")
    for source in ("words.txt", "bad.json", "binary.json", "empty"):
        with pytest.raises(TokenizerError, match=source):
            load_tokenizer(tmp_path / source)
    with pytest.raises(TokenizerError, match="no-such/model"):
        load_tokenizer("no-such/model")
