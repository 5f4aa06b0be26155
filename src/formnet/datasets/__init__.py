"""Labeled corpora as `Document` objects, one module per corpus, addressed as `kind:path@split`.

    >>> parse_spec("funsd:data/funsd@train")
    ('funsd', PosixPath('data/funsd'), 'train')

Each kind is the name of a module in this package that defines a `Corpus` subclass as `CORPUS` and is listed in `KINDS`.
"""

from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import cast

from formnet.datasets.base import Corpus
from formnet.document.reading_order import Order
from formnet.errors import CorpusError

__all__ = ["KINDS", "Corpus", "open_corpus", "open_corpus_for", "parse_spec"]

#: Supported corpus kinds; each is a module in this package.
KINDS = (
    "adbuy", "cord", "einvoices", "files", "funsd", "invoices", "jsonl", "label_studio", "sroie", "values",
    "wildreceipt", "xfund",
)  # fmt: skip


def open_corpus(spec: str, order: Order = "given", seed: int = 0, *, canonical: bool = False) -> Corpus:
    """Open the corpus that `kind:path@split` refers to; without a split, open all splits.

    With `canonical`, labels have the names of the canonical schema.
    """
    kind, path, split = parse_spec(spec)
    if kind not in KINDS:
        raise CorpusError(f"{spec}: unknown corpus kind {kind!r}. Use one of {', '.join(KINDS)}.")
    corpus = cast(type[Corpus], import_module(f"{__name__}.{kind}").CORPUS)
    return corpus(path, split, order=order, seed=seed, canonical=canonical)


def open_corpus_for(labels: Collection[str], spec: str, order: Order = "given") -> Corpus:
    """Open a corpus with canonical names unless more of its own names are among the labels of a model."""
    corpus, canonical = (open_corpus(spec, order, canonical=flag) for flag in (False, True))
    own, renamed = (sum(name in labels for name in each.entity_types) for each in (corpus, canonical))
    return canonical if renamed >= own else corpus


def parse_spec(spec: str) -> tuple[str, Path, str | None]:
    """Split `kind:path@split` into its parts; an @ in a folder name belongs to the path."""
    kind, colon, rest = spec.partition(":")
    if not colon or not kind or not rest:
        raise CorpusError(f"{spec!r}: not a corpus. Write kind:path or kind:path@split, as in funsd:data/funsd@test.")
    path, at, split = rest.rpartition("@")
    if not at or "/" in split:
        return kind, Path(rest), None
    if not path or not split:
        empty = "path before" if not path else "split after"
        raise CorpusError(f"{spec!r}: the {empty} the @ is empty. Write kind:path@split.")
    return kind, Path(path), split
