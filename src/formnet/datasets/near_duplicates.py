"""Documents of one corpus that another holds, too: what a model has learned by heart should not be its test."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from formnet.document import Document
from formnet.document.values.parse import fold

#: Two documents with this share of words in common are one and the same, but for what was misread.
SAME = 0.8
#: A word that so many documents have does not lead from one to another; it still counts once two are compared.
COMMON = 500


class Closest(NamedTuple):
    """A document, the other corpus's that is most like it, and the share of their distinct words that both have."""

    document: str
    other: str | None
    share: float


def closest(documents: Iterable[Document], others: Iterable[Document]) -> Iterator[Closest]:
    """Give for each document the one among others that shares most of its words, in whatever order they stand."""
    known = [(other.id, _words(other)) for other in others]
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for number, (_, words) in enumerate(known):
        for word in words:
            holders[word].append(number)
    for document in documents:
        own = _words(document)
        lists = (holders.get(word, []) for word in own)
        met = {number for numbers in lists if len(numbers) <= COMMON for number in numbers}
        shares = [(len(own & known[number][1]) / len(own | known[number][1]), -number) for number in met]
        share, number = max(shares, default=(0.0, 0))
        yield Closest(document.id, known[-number][0] if shares else None, share)


def _words(document: Document) -> frozenset[str]:
    return frozenset(word for text in document.texts if (word := fold(text)))
