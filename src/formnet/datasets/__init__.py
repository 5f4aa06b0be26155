"""A labeled corpus → labeled Documents. One file a corpus, called by the file's name: `kind:path@split`.

    >>> parse_spec("funsd:data/funsd@train")
    ('funsd', PosixPath('data/funsd'), 'train')

A kind of corpus is a module here with a `Corpus` subclass named `CORPUS`, listed in `KINDS`.
"""

from importlib import import_module
from pathlib import Path
from typing import cast

from formnet.datasets.base import Corpus
from formnet.document.reading_order import Order
from formnet.errors import CorpusError

__all__ = ["KINDS", "Corpus", "open_corpus", "parse_spec"]

#: Kinds of corpora, each the name of a module in this package.
KINDS = ("adbuy", "cord", "files", "funsd", "jsonl", "label_studio", "sroie", "values", "xfund")


def open_corpus(spec: str, order: Order = "given", seed: int = 0) -> Corpus:
    """Find the corpus that `kind:path@split` names; without a split, all of them."""
    kind, path, split = parse_spec(spec)
    if kind not in KINDS:
        raise CorpusError(f"{spec}: {kind!r} is no kind of corpus; known are {', '.join(KINDS)}.")
    corpus = cast(type[Corpus], import_module(f"{__name__}.{kind}").CORPUS)
    return corpus(path, split, order=order, seed=seed)


def parse_spec(spec: str) -> tuple[str, Path, str | None]:
    """Take `kind:path@split` apart; an @ inside a folder's name is part of the path."""
    kind, colon, rest = spec.partition(":")
    if not colon or not kind or not rest:
        raise CorpusError(f"{spec!r} names no corpus; write kind:path or kind:path@split, as in funsd:data/funsd@test.")
    path, at, split = rest.rpartition("@")
    if not at or "/" in split:
        return kind, Path(rest), None
    if not path or not split:
        raise CorpusError(f"{spec!r}: nothing stands {'before' if not path else 'after'} the @.")
    return kind, Path(path), split
