from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from formnet.datasets import open_corpus
from formnet.document.builder import DocumentBuilder
from formnet.document.tags import TagScheme
from formnet.encoding import EncodedDocument, Encoder, buckets, collate, uncollate
from plain_documents import row_of_words


def is_equal(a: EncodedDocument, b: EncodedDocument) -> bool:
    def equal(x: object, y: object) -> bool:
        if isinstance(x, np.ndarray):
            return isinstance(y, np.ndarray) and x.dtype == y.dtype and np.array_equal(x, y)
        return x == y

    return all(equal(value, vars(b)[name]) for name, value in vars(a).items())


def test_uncollate_funsd_batch_returns_documents(data: Path, bert_tokenizer: Tokenizer) -> None:
    corpus = open_corpus(f"funsd:{data}/funsd@test")
    encoder = Encoder(bert_tokenizer, TagScheme(corpus.entity_types, corpus.untagged))
    documents = [encoder(document) for document, _ in zip(corpus, range(7), strict=False)]
    batch = collate(documents, encoder.padding_id, multiple=64)
    assert batch["input_ids"].shape[1] % 64 == 0
    assert (batch["labels"] == -100).any()
    for before, after in zip(documents, uncollate(batch), strict=True):
        assert is_equal(before, after)


@given(st.lists(st.lists(st.sampled_from(["a", "ab", "totals", "9.00"]), max_size=9), min_size=1, max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_uncollate_any_batch_returns_documents(small_tokenizer: Tokenizer, batch: list[list[str]]) -> None:
    documents = [Encoder(small_tokenizer)(row_of_words(texts)) for texts in batch]
    for before, after in zip(documents, uncollate(collate(documents, 0)), strict=True):
        assert is_equal(before, after)


def test_uncollate_document_without_pages_returns_empty_document(small_tokenizer: Tokenizer) -> None:
    encoded = Encoder(small_tokenizer)(DocumentBuilder("empty").build())
    assert len(encoded) == encoded.num_words == 0
    assert is_equal(encoded, uncollate(collate([encoded, Encoder(small_tokenizer)(row_of_words(["a"]))], 0))[0])


@given(st.lists(st.integers(1, 300), max_size=40), st.none() | st.integers(0, 9))
def test_buckets_any_lengths_contain_each_document_once_within_limit(lengths: list[int], seed: int | None) -> None:
    batches = buckets(lengths, 500, seed)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    assert all(len(b) == 1 or max(lengths[i] for i in b) * len(b) <= 500 for b in batches)
    assert batches == buckets(lengths, 500, seed)


def test_buckets_random_lengths_add_little_padding() -> None:
    lengths = np.random.default_rng(0).integers(20, 600, 800).tolist()
    for seed in (None, 1):
        padded = sum(max(lengths[i] for i in b) * len(b) for b in buckets(lengths, 4096, seed))
        assert padded < 1.1 * sum(lengths)
    assert buckets(lengths, 4096, 1) != buckets(lengths, 4096, 2)
