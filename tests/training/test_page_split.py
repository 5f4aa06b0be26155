"""Pages that pre-training leaves out."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from formnet.datasets import open_corpus
from formnet.datasets.near_duplicates import NEAR_DUPLICATE_SHARE
from formnet.document import Document
from formnet.document.values.parse import fold
from formnet.encoding import Encoder, load_tokenizer
from formnet.io.readers import read
from formnet.io.writers import write
from formnet.training.config import PreTraining, load_settings
from formnet.training.masked_lm import Masker
from formnet.training.page_split import (
    LEFT_OUT,
    PageSplit,
    copy_words,
    read_numbered_pages,
    read_pages,
    source_id,
    split_pages,
)
from formnet.training.page_stream import PageStream
from page_epochs import read_epoch

ROOT = Path(__file__).parents[2]


def renamed(document: Document, name: str) -> Document:
    return replace(document, id=name, entities=(), links=())


def test_split_pages_leaves_out_held_out_documents_excluded_ones_and_near_duplicates(
    documents: list[Document], tmp_path: Path
) -> None:
    receipt, invoice = documents[:2]
    assert (len(receipt.pages), len(invoice.pages)) == (1, 2)
    letter = replace(receipt, pages=(replace(receipt.pages[0], texts=("letter",) * len(receipt.texts)),))
    excluded = tmp_path / "test.jsonl"
    write([renamed(letter, "letter"), renamed(receipt, "other")], excluded)
    file = tmp_path / "pages.jsonl"
    memo = replace(receipt, pages=(replace(receipt.pages[0], texts=tuple(f"memo{i}" for i in receipt.texts)),))
    names = ["first.pdf#0", "first.pdf#1", "letter.pdf#7", "copy.pdf#0", "memo.pdf#0", "first.pdf#2"]
    contents = [invoice, invoice, memo, receipt, memo, memo]
    write([renamed(content, name) for content, name in zip(contents, names, strict=True)], file)
    split = split_pages([file], 1, [f"jsonl:{excluded}"])
    reasons = {(page.page, page.reason.partition(":")[0]) for page in split.left_out}
    assert reasons == {
        ("first.pdf#0/1", "held out"), ("first.pdf#0/2", "held out"),
        ("first.pdf#1/1", "held out"), ("first.pdf#1/2", "held out"), ("first.pdf#2/1", "held out"),
        ("letter.pdf#7/1", "page of an excluded document"),
        ("copy.pdf#0/1", "near-duplicate"), ("memo.pdf#0/1", "near-duplicate"),
    }  # fmt: skip
    assert {source_id(page.id) for page in split.held_out} == {"first"}
    split.save(tmp_path)
    counts = json.loads((tmp_path / LEFT_OUT).read_text(encoding="utf-8"))["counts"]
    assert counts == {"held out": 5, "page of an excluded document": 1, "near-duplicate": 2}
    loaded = PageSplit.load(tmp_path)
    assert loaded.left_out == split.left_out
    assert [(page.id, page.texts) for page in loaded.held_out] == [(page.id, page.texts) for page in split.held_out]
    assert split_pages([file], 0, []).left_out == []


def test_copy_words_writes_each_corpus_once_without_labels(documents: list[Document], tmp_path: Path) -> None:
    write(documents, tmp_path / "corpus.jsonl")
    spec = f"jsonl:{tmp_path / 'corpus.jsonl'}"
    (file,) = copy_words([spec], tmp_path, reuse=False)
    copies = list(read(file))
    assert [copy.texts for copy in copies] == [document.texts for document in documents]
    assert any(document.entities for document in documents)
    assert not any(copy.entities or copy.links or copy.fields for copy in copies)
    assert [source_id(f"{copy.id}/1") for copy in copies] == [f"{document.id} of {spec}" for document in documents]
    write(documents[:1], tmp_path / "corpus.jsonl")
    assert copy_words([spec], tmp_path, reuse=True) == [file]
    assert len(list(read(file))) == len(documents)
    copy_words([spec], tmp_path, reuse=False)
    assert len(list(read(file))) == 1


def test_read_numbered_pages_skips_documents_and_pages(documents: list[Document], tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    write([renamed(documents[i % 2], f"d{i}") for i in range(4)], file)
    everything = [(*numbers, page.id) for *numbers, page in read_numbered_pages(file)]
    assert everything[:3] == [(0, 0, "d0/1"), (1, 0, "d1/1"), (1, 1, "d1/2")]
    for position in range(len(everything)):
        document, page, _ = everything[position]
        assert [(*n, p.id) for *n, p in read_numbered_pages(file, document, page)] == everything[position:]


def word_matrix(pages: list[Document], columns: dict[str, int]) -> csr_matrix:
    """Return which words occur on which page: [pages, words]."""
    words = [{columns.setdefault(word, len(columns)) for word in map(fold, page.texts) if word} for page in pages]
    rows = np.repeat(np.arange(len(pages)), [len(part) for part in words])
    entries = np.concatenate([np.fromiter(part, np.intp, len(part)) for part in words])
    return csr_matrix((np.ones(len(entries), np.int32), (rows, entries)), shape=(len(pages), len(columns)))


@pytest.mark.slow
def test_pretrain_base_trains_on_no_page_of_an_excluded_document_nor_a_near_duplicate(
    data: Path, vocabulary: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "data").symlink_to(data)
    monkeypatch.chdir(tmp_path)
    read_once = cache(lambda file: list(read_pages(file)))
    numbered = lambda file, *_: ((i, 0, page) for i, page in enumerate(read_once(file)))  # noqa: E731
    monkeypatch.setattr("formnet.training.page_split.read_pages", lambda file: iter(read_once(file)))
    monkeypatch.setattr("formnet.training.page_stream.read_numbered_pages", numbered)
    run = load_settings(PreTraining, ROOT / "configs/base.yaml")
    tests = {f"{name}:data/{name}@test" for name in ("sroie", "cord", "adbuy", "invoices", "einvoices")}
    assert tests | {"funsd:data/funsd", "wildreceipt:data/wildreceipt"} <= {*run.exclude}
    split = split_pages(run.pages, run.held_out_pages, run.exclude)
    left_out = {(page.file, page.page) for page in split.left_out}
    tokenizer = load_tokenizer(vocabulary)
    stream = PageStream(run.pages, Encoder(tokenizer), Masker(tokenizer), 4096, left_out=left_out)
    trained = list(read_epoch(stream))
    kept = [page.id for file in run.pages for page in read_once(file) if (file.name, page.id) not in left_out]
    assert sorted(page.id for page in trained) == sorted(kept)
    excluded = [document for spec in run.exclude for document in open_corpus(spec)]
    protected = [replace(d, pages=(page,), entities=(), links=()) for d in excluded for page in d.pages]
    protected += split.held_out
    assert {source_id(page.id) for page in trained}.isdisjoint(source_id(page.id) for page in protected)
    columns: dict[str, int] = {}
    first, second = word_matrix(trained, columns), word_matrix(protected, columns)
    first.resize(len(trained), len(columns))
    shared = (first @ second.T).tocoo()
    sizes = first.getnnz(axis=1)[shared.row] + second.getnnz(axis=1)[shared.col]
    assert (shared.data / (sizes - shared.data)).max() < NEAR_DUPLICATE_SHARE
