"""Near-duplicate detection between corpora, to find test documents that are also in the training data."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from formnet.document import Document
from formnet.document.values.parse import fold

#: Documents whose word sets have at least this Jaccard similarity are near-duplicates.
NEAR_DUPLICATE_SHARE = 0.8
#: Words in more documents than this do not select candidates; they still count in the similarity.
MAX_DOCUMENT_FREQUENCY = 500


class NearestDocument(NamedTuple):
    """A document id, the id of the most similar document in the other corpus, and their Jaccard similarity."""

    document: str
    other: str | None
    share: float


def nearest_documents(documents: Iterable[Document], others: Iterable[Document]) -> Iterator[NearestDocument]:
    """Yield the most similar of the other documents for each document, comparing sets of words."""
    candidates = [(other.id, _word_set(other)) for other in others]
    postings: defaultdict[str, list[int]] = defaultdict(list)
    for index, (_, words) in enumerate(candidates):
        for word in words:
            postings[word].append(index)
    for document in documents:
        own = _word_set(document)
        lists = (postings.get(word, []) for word in own)
        selected = {index for indices in lists if len(indices) <= MAX_DOCUMENT_FREQUENCY for index in indices}
        shares = [(len(own & candidates[index][1]) / len(own | candidates[index][1]), -index) for index in selected]
        share, negative_index = max(shares, default=(0.0, 0))
        yield NearestDocument(document.id, candidates[-negative_index][0] if shares else None, share)


def _word_set(document: Document) -> frozenset[str]:
    return frozenset(word for text in document.texts if (word := fold(text)))
