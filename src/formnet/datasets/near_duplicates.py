"""Near-duplicate detection between corpora by page, to find test documents that are also in the training data."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from formnet.document import Document, Page
from formnet.document.values.parse import fold

#: Pages whose word sets have at least this Jaccard similarity are near-duplicates.
NEAR_DUPLICATE_SHARE = 0.8


class NearestDocument(NamedTuple):
    """A document id, the id of the document with the most similar page, and the Jaccard similarity of the pages."""

    document: str
    other: str | None
    share: float


class PageIndex:
    """Pages of a corpus, to look up the most similar one."""

    def __init__(self, documents: Iterable[Document]) -> None:
        postings: defaultdict[str, list[int]] = defaultdict(list)
        sizes: list[int] = []
        self._ids: list[str] = []
        for document in documents:
            for page in document.pages:
                words = _word_set(page)
                for word in words:
                    postings[word].append(len(sizes))
                self._ids.append(document.id)
                sizes.append(len(words))
        self._sizes = np.array(sizes, np.intp)
        self._postings = {word: np.array(pages, np.intp) for word, pages in postings.items()}  # word: its pages

    def nearest(self, document: Document) -> NearestDocument:
        """Return the document with the page that is most similar to a page of the given document."""
        found = [self._nearest(words) for page in document.pages if (words := _word_set(page))]
        share, index = max(found, key=lambda item: item[0], default=(0.0, None))
        return NearestDocument(document.id, None if index is None else self._ids[index], share)

    def _nearest(self, words: frozenset[str]) -> tuple[float, int | None]:
        postings = [self._postings[word] for word in words if word in self._postings]
        if not postings:
            return 0.0, None
        shared = np.bincount(np.concatenate(postings), minlength=len(self._sizes))
        shares = shared / (len(words) + self._sizes - shared)
        index = int(shares.argmax())  # the first of several
        return float(shares[index]), index


def nearest_documents(documents: Iterable[Document], others: Iterable[Document]) -> Iterator[NearestDocument]:
    """Yield, for each document, the one of the others with the most similar page, comparing sets of words."""
    index = PageIndex(others)
    return map(index.nearest, documents)


def near_duplicates(documents: Iterable[Document], others: Iterable[Document]) -> set[str]:
    """Return the ids of the documents that have a near-duplicate of a page of the others."""
    nearest = nearest_documents(documents, others)
    return {pair.document for pair in nearest if pair.share >= NEAR_DUPLICATE_SHARE}


def _word_set(page: Page) -> frozenset[str]:
    return frozenset(word for text in page.texts if (word := fold(text)))
