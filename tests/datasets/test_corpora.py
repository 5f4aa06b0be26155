"""Counts of all corpora as published, or as counted in the files at hand, to show that no content is lost."""

from collections import Counter
from pathlib import Path

import pytest

from formnet.datasets import open_corpus
from formnet.document import Document
from formnet.io.glued_words import split_word


def count(documents: list[Document]) -> dict[str, int]:
    """Count content including what repairs removed, which adds up to the content of the files."""
    repairs = Counter(repair.kind for document in documents for repair in document.repairs)
    added = sum(len(split_word(r.detail)) - 1 for d in documents for r in d.repairs if r.kind.endswith(" split"))
    return {
        "documents": len(documents),
        "pages": sum(len(d.pages) for d in documents),
        "words": sum(d.num_words for d in documents) + repairs["blank word dropped"] - added,
        "blank": repairs["blank word dropped"],
        "entities": sum(len(d.entities) for d in documents) + repairs["empty entity dropped"],
        "links": sum(len(d.links) for d in documents)
        + repairs["link to an empty entity dropped"]
        + repairs["repeated link dropped"],
        "labels": len({e.label for d in documents for e in d.entities}),
    }


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("funsd:funsd@train", {"documents": 149, "words": 22_512, "blank": 624, "entities": 7_411, "links": 4_236}),
        ("funsd:funsd@test", {"documents": 50, "words": 8_973, "blank": 266, "entities": 2_332, "links": 1_076}),
        ("cord:cord@train", {"documents": 800, "words": 19_371, "blank": 1, "entities": 11_107, "labels": 30}),
        ("cord:cord@dev", {"documents": 100, "words": 2_186, "entities": 1_247, "labels": 23}),
        ("cord:cord@test", {"documents": 100, "words": 2_356, "entities": 1_336, "labels": 24}),
        ("cord:cord/v2-validation.csv", {"documents": 100, "words": 2_186, "entities": 1_219}),
        ("sroie:sroie@train", {"documents": 626, "words": 72_390}),
        ("sroie:sroie@test", {"documents": 347, "words": 39_682}),
        pytest.param("adbuy:adbuy@train", {"documents": 400, "pages": 994, "words": 466_708}, marks=pytest.mark.slow),
        ("adbuy:adbuy@validation", {"documents": 43, "pages": 117, "words": 48_286}),
        ("adbuy:adbuy@test", {"documents": 150, "pages": 361, "words": 179_241}),
        ("invoices:invoices@validation", {"documents": 50, "pages": 50, "words": 5_690, "entities": 1_968}),
        ("invoices:invoices@test", {"documents": 75, "pages": 79, "words": 8_531, "entities": 2_864}),
        pytest.param(
            "invoices:invoices@train",
            {"documents": 864, "pages": 893, "words": 105_349, "entities": 35_005, "labels": 35},
            marks=pytest.mark.slow,
        ),
        ("jsonl:naf@valid", {"documents": 78, "words": 22_211, "entities": 6_014, "links": 1_829}),
        ("jsonl:va-forms", {"documents": 101, "pages": 315, "words": 163_535, "links": 2_870}),
        ("wildreceipt:wildreceipt@test", {"documents": 472, "words": 18_307, "labels": 12}),
        ("xfund:xfund@fr.val", {"documents": 50, "words": 14_132}),
        ("xfund:xfund/zh.val.paddle.tsv", {"documents": 50}),
        ("jsonl:unlabeled@tax-form-pages", {"documents": 275, "words": 187_103}),
        ("jsonl:unlabeled@legal-form-pages", {"documents": 45, "words": 9_364}),
        ("jsonl:unlabeled@registration-ocr-pages", {"documents": 572, "words": 254_462}),
        pytest.param("jsonl:unlabeled@adbuy-pages", {"documents": 1_137, "words": 529_131}, marks=pytest.mark.slow),
        pytest.param(
            "jsonl:unlabeled@registration-pages", {"documents": 1_971, "words": 897_831}, marks=pytest.mark.slow
        ),
        pytest.param(
            "jsonl:unlabeled@agreement-pages", {"documents": 4_187, "words": 1_961_100}, marks=pytest.mark.slow
        ),
        pytest.param(
            "jsonl:unlabeled@industry-pages", {"documents": 12_530, "words": 2_329_914}, marks=pytest.mark.slow
        ),
    ],
)
def test_corpus_counts_match_published(data: Path, spec: str, expected: dict[str, int]) -> None:
    kind, _, path = spec.partition(":")
    corpus = open_corpus(f"{kind}:{data}/{path}")
    counted = count(list(corpus))
    assert {name: counted[name] for name in expected} == expected
    assert len(corpus) == expected["documents"]
