import json
from collections import Counter
from pathlib import Path

import pytest

from formnet.datasets import open_corpus
from formnet.datasets.invoices import LABELS, row_links
from formnet.errors import DocumentError


def test_row_links_lead_from_description_to_rest() -> None:
    labels = ["line_items.quantity", "total", "line_items.description", "line_items.total", "line_items.total"]
    entities = [{"label": label, "row": row} for label, row in zip(labels, [0, None, 0, 0, 1], strict=True)]
    assert list(row_links(entities)) == [[2, 0], [2, 3]]


def test_row_links_without_description_lead_from_first_entity() -> None:
    entities = [{"label": f"line_items.{name}", "row": 3} for name in ("quantity", "total")]
    assert list(row_links(entities)) == [[0, 1]]


def test_invoices_entity_without_row_raises(tmp_path: Path) -> None:
    page = {"width": 9, "height": 9, "words": ["a"], "boxes": [[0, 0, 1, 1]]}
    line = json.dumps({"id": "a", "pages": [page], "entities": [{"label": "total", "words": [0]}]})
    (tmp_path / "train.jsonl").write_text(line)
    with pytest.raises(DocumentError, match=r"train.jsonl, line 1: an entity needs a 'label' and a 'row'"):
        list(open_corpus(f"invoices:{tmp_path}"))


def test_invoices_test_labels_match_published_counts(data: Path) -> None:
    documents = list(open_corpus(f"invoices:{data}/invoices@test"))
    counts = Counter(entity.label for document in documents for entity in document.entities)
    assert set(counts) <= set(LABELS)
    assert counts["line_items.description"] == counts["line_items.total"] == 384
    assert sum(len(document.links) for document in documents) == 1_263
