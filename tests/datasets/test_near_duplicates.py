from pathlib import Path

from formnet.datasets import open_corpus
from formnet.datasets.near_duplicates import NEAR_DUPLICATE_SHARE, NearestDocument, nearest_documents
from formnet.document import Document
from formnet.document.reading_order import reorder


def test_nearest_documents_finds_shuffled_copy(documents: list[Document]) -> None:
    first, second = documents[:2]
    found = list(nearest_documents([reorder(first, "shuffled", 1)], [second, first]))
    assert found == [NearestDocument(first.id, first.id, 1.0)]
    (different,) = nearest_documents([first], [second])
    assert different.share < NEAR_DUPLICATE_SHARE
    assert list(nearest_documents([first], [])) == [NearestDocument(first.id, None, 0.0)]


def test_nearest_documents_cord_finds_test_receipts_in_train(data: Path) -> None:
    found = nearest_documents(open_corpus(f"cord:{data}/cord@test"), open_corpus(f"cord:{data}/cord@train"))
    identical = {pair.document for pair in found if pair.share == 1}
    assert {"receipt_00068", "receipt_00069", "receipt_00090"} <= identical
