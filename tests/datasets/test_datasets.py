"""Corpus specifications of the form `kind:path@split`."""

from pathlib import Path

import pytest

from formnet.datasets import KINDS, open_corpus, parse_spec
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
