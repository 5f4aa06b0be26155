from collections import Counter
from pathlib import Path

import pytest

from formnet.datasets import open_corpus
from formnet.document.tags import TagScheme, contiguous_runs


def test_funsd_entities_by_type_match_published(data: Path) -> None:
    def types(split: str) -> Counter[str]:
        documents = list(open_corpus(f"funsd:{data}/funsd@{split}"))
        dropped = (r.detail for d in documents for r in d.repairs if r.kind == "empty entity dropped")
        return Counter([*(e.label for d in documents for e in d.entities), *dropped])

    assert types("train") == {"question": 3_266, "answer": 2_802, "header": 441, "other": 902}
    assert types("test") == {"question": 1_077, "answer": 821, "header": 122, "other": 312}


def test_funsd_test_split_scored_spans_match_counts(data: Path) -> None:
    corpus = open_corpus(f"funsd:{data}/funsd@test")
    scheme = TagScheme(corpus.entity_types, corpus.untagged)
    spans = [span.label for document in corpus for span in scheme.spans(scheme.document_tags(document))]
    assert Counter(spans) == {"question": 1_070, "answer": 809, "header": 119}


@pytest.mark.slow
def test_funsd_raster_order_makes_some_entities_non_contiguous(data: Path) -> None:
    def non_contiguous_share(order: str) -> float:
        entities = [e for d in open_corpus(f"funsd:{data}/funsd", order) for e in d.entities]  # type: ignore[arg-type]
        return sum(len(contiguous_runs(e)) > 1 for e in entities) / len(entities)

    assert non_contiguous_share("given") == 0
    assert 0.05 < non_contiguous_share("raster") < 0.12
    assert non_contiguous_share("shuffled") > 0.5
