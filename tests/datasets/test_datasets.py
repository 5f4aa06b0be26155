"""Corpus specifications of the form `kind:path@split`."""

from pathlib import Path

import pytest

from formnet.datasets import KINDS, open_corpus, open_corpus_for, parse_spec
from formnet.datasets.cord import CANONICAL_NAMES, CATEGORIES
from formnet.errors import CorpusError


def test_parse_spec_splits_kind_path_and_split() -> None:
    assert parse_spec("jsonl:a@b/c.jsonl") == ("jsonl", Path("a@b/c.jsonl"), None)
    assert parse_spec("jsonl:a@b/c@d") == ("jsonl", Path("a@b/c"), "d")
    assert {"funsd", "cord", "sroie", "adbuy", "xfund", "jsonl"} <= set(KINDS)
    for spec in ("funsd", ":x", "funsd:", "funsd:x@", "funsd:@train"):
        with pytest.raises(CorpusError):
            parse_spec(spec)


def test_open_corpus_unknown_kind_raises(examples: Path) -> None:
    with pytest.raises(CorpusError, match=r"unknown corpus kind 'base'\. Use one of adbuy, cord"):
        open_corpus(f"base:{examples}")


def test_open_corpus_canonical_renames_labels_and_fields(data: Path) -> None:
    corpus = open_corpus(f"sroie:{data}/sroie@test", canonical=True)
    document = next(iter(corpus))
    assert corpus.entity_types == ("merchant.name", "date", "merchant.address", "total")
    assert set(document.fields) == set(corpus.entity_types) == document.annotated


def test_open_corpus_for_chooses_names_of_the_model(data: Path) -> None:
    spec = f"cord:{data}/cord@dev"
    assert open_corpus_for(CATEGORIES, spec).entity_types == CATEGORIES
    assert "line_items.description" in open_corpus_for(CANONICAL_NAMES.values(), spec).entity_types


def test_cord_canonical_names_are_distinct() -> None:
    assert set(CANONICAL_NAMES) == set(CATEGORIES)
    assert len(set(CANONICAL_NAMES.values())) == len(CATEGORIES)
