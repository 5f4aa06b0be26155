"""Counts as published (or as the data at hand was counted), so that nothing is lost between file and document."""

from collections import Counter
from pathlib import Path

import pytest

from formnet.datasets import KINDS, open_corpus, parse_spec
from formnet.datasets.cord import CATEGORIES
from formnet.datasets.near_duplicates import SAME, Closest, closest
from formnet.datasets.sroie import _decode
from formnet.document import Document
from formnet.document.reading_order import reorder
from formnet.document.tags import TagScheme, runs_of
from formnet.errors import CorpusError, DocumentError


def count(documents: list[Document]) -> dict[str, int]:
    """Count what was read, and with it what was repaired away: together they are what the files hold."""
    repairs = Counter(repair.kind for document in documents for repair in document.repairs)
    return {
        "documents": len(documents),
        "pages": sum(len(d.pages) for d in documents),
        "words": sum(d.num_words for d in documents)
        + repairs["blank word dropped"]
        - 2 * repairs["range of dates taken apart"],
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
        ("adbuy:adbuy@train", {"documents": 400, "pages": 994, "words": 466_708}),
        ("adbuy:adbuy@validation", {"documents": 43, "pages": 117, "words": 48_286}),
        ("adbuy:adbuy@test", {"documents": 150, "pages": 361, "words": 179_241}),
        ("xfund:xfund@fr.val", {"documents": 50, "words": 14_132}),
        ("xfund:xfund/zh.val.paddle.tsv", {"documents": 50}),
        ("jsonl:unlabeled@tax-form-pages", {"documents": 275, "words": 187_103}),
        ("jsonl:unlabeled@legal-form-pages", {"documents": 45, "words": 9_364}),
        ("jsonl:unlabeled@registration-ocr-pages", {"documents": 572, "words": 254_462}),
        ("jsonl:unlabeled@adbuy-pages", {"documents": 1_137, "words": 529_131}),
        ("jsonl:unlabeled@registration-pages", {"documents": 1_971, "words": 897_831}),
        ("jsonl:unlabeled@agreement-pages", {"documents": 4_187, "words": 1_961_100}),
        ("jsonl:unlabeled@industry-pages", {"documents": 12_530, "words": 2_329_914}),
    ],
)
def test_counts(data: Path, spec: str, expected: dict[str, int]) -> None:
    kind, _, path = spec.partition(":")
    corpus = open_corpus(f"{kind}:{data}/{path}")
    counted = count(list(corpus))
    assert {name: counted[name] for name in expected} == expected
    assert len(corpus) == expected["documents"]


def test_funsd_entities_by_type(data: Path) -> None:
    def types(split: str) -> Counter[str]:
        documents = list(open_corpus(f"funsd:{data}/funsd@{split}"))
        dropped = (r.detail for d in documents for r in d.repairs if r.kind == "empty entity dropped")
        return Counter([*(e.label for d in documents for e in d.entities), *dropped])

    assert types("train") == {"question": 3_266, "answer": 2_802, "header": 441, "other": 902}
    assert types("test") == {"question": 1_077, "answer": 821, "header": 122, "other": 312}


def test_funsd_scored_entities(data: Path) -> None:
    corpus = open_corpus(f"funsd:{data}/funsd@test")
    scheme = TagScheme(corpus.entity_types, corpus.untagged)
    spans = [span.label for document in corpus for span in scheme.spans(scheme.document_tags(document))]
    assert Counter(spans) == {"question": 1_070, "answer": 809, "header": 119}


def test_cord_repairs(data: Path) -> None:
    def outside(split: str) -> int:
        documents = open_corpus(f"cord:{data}/cord@{split}")
        return sum("clipped" in repair.kind for document in documents for repair in document.repairs)

    assert (outside("train"), outside("dev"), outside("test")) == (16, 0, 3)


def test_cord_v2_says_the_same_words_under_v1_names(data: Path) -> None:
    old = {tuple(sorted(d.texts)) for d in open_corpus(f"cord:{data}/cord@validation")}
    new = list(open_corpus(f"cord:{data}/cord/v2-validation.csv"))
    assert {tuple(sorted(d.texts)) for d in new} == old
    assert {e.label for d in new for e in d.entities} <= set(CATEGORIES)


@pytest.mark.parametrize(("split", "lines", "images"), [("train", 33_626, 0), ("test", 18_705, 50)])
def test_sroie_lines_and_images(data: Path, split: str, lines: int, images: int) -> None:
    corpus = open_corpus(f"sroie:{data}/sroie@{split}")
    rows = (row for file in corpus.sources(split) for row in _decode(file.read_bytes()).splitlines())
    assert sum(bool(row.strip()) for row in rows) == lines
    assert sum(document.pages[0].image is not None for document in corpus) == images


def test_sroie_and_adbuy_fields(data: Path) -> None:
    fields = Counter(name for d in open_corpus(f"sroie:{data}/sroie@test") for name in d.fields)
    assert fields == dict.fromkeys(("company", "date", "address", "total"), 347)
    values = sum(len(d.fields) for d in open_corpus(f"adbuy:{data}/adbuy@train"))
    assert values == 1_992
    longest = max(d.num_words for split in ("train", "test") for d in open_corpus(f"adbuy:{data}/adbuy@{split}"))
    assert longest == 11_529


def test_turned_adbuy_pages_keep_their_right_hand_columns(data: Path) -> None:
    """On turned pages a fifth of the words lie beyond the width given; none may be pressed to the edge."""
    corpus = open_corpus(f"adbuy:{data}/adbuy@train")
    pressed = sum("without area" in repair.kind for document in corpus for repair in document.repairs)
    assert pressed == 0


def test_raster_order_scatters_some_funsd_entities(data: Path) -> None:
    def scattered(order: str) -> float:
        entities = [e for d in open_corpus(f"funsd:{data}/funsd", order) for e in d.entities]  # type: ignore[arg-type]
        return sum(len(runs_of(e)) > 1 for e in entities) / len(entities)

    assert scattered("given") == 0
    assert 0.05 < scattered("raster") < 0.12
    assert scattered("shuffled") > 0.5


def test_all_splits_without_a_name(examples: Path) -> None:
    corpus = open_corpus(f"jsonl:{examples}")
    assert corpus.splits == ("documents",)
    assert [d.id for d in corpus] == ["cafe-receipt", "printer-invoice"]


def test_specs() -> None:
    assert parse_spec("jsonl:a@b/c.jsonl") == ("jsonl", Path("a@b/c.jsonl"), None)
    assert parse_spec("jsonl:a@b/c@d") == ("jsonl", Path("a@b/c"), "d")
    assert {"funsd", "cord", "sroie", "adbuy", "xfund", "jsonl"} <= set(KINDS)
    for spec in ("funsd", ":x", "funsd:", "funsd:x@", "funsd:@train"):
        with pytest.raises(CorpusError):
            parse_spec(spec)


@pytest.mark.parametrize("kind", ["funsd", "cord", "sroie", "adbuy", "xfund", "jsonl"])
def test_what_is_not_there_is_said(kind: str, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="holds no"):
        open_corpus(f"{kind}:{tmp_path}")
    with pytest.raises(CorpusError, match="no such"):
        open_corpus(f"{kind}:{tmp_path / 'nowhere'}")


def test_wrong_kinds_and_splits_are_named(examples: Path) -> None:
    with pytest.raises(CorpusError, match=r"'base' is no kind of corpus; known are adbuy, cord"):
        open_corpus(f"base:{examples}")
    with pytest.raises(CorpusError, match="has no split 'test'; found are documents"):
        open_corpus(f"jsonl:{examples}@test")


@pytest.mark.parametrize(
    ("kind", "file", "text"),
    [
        ("funsd", "training_data/annotations/a.json", '{"form": [{"text": 1}]}'),
        ("funsd", "training_data/annotations/a.json", "[" * 100_000),
        ("funsd", "training_data/annotations/a.json", '{"form": 3}'),
        ("cord", "train/json/a.json", '{"valid_line": [{"words": [{"text": "x"}]}], "meta": {}}'),
        ("cord", "train/json/a.json", "{"),
        ("sroie", "train/box/a.txt", "1,2,3,total"),
        ("xfund", "fr.val.paddle.tsv", "a.jpg\tnonsense"),
    ],
)
def test_a_broken_document_is_named(kind: str, file: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DocumentError, match=path.name):
        list(open_corpus(f"{kind}:{tmp_path}"))


def test_a_csv_that_is_not_cord_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    with pytest.raises(CorpusError, match="columns"):
        list(open_corpus(f"cord:{tmp_path / 'x.csv'}"))


def test_documents_that_another_corpus_holds_are_found(documents: list[Document]) -> None:
    first, second = documents[:2]
    found = list(closest([reorder(first, "shuffled", 1)], [second, first]))
    assert found == [Closest(first.id, first.id, 1.0)]
    (apart,) = closest([first], [second])
    assert apart.share < SAME
    assert list(closest([first], [])) == [Closest(first.id, None, 0.0)]


def test_three_receipts_of_cord_are_in_training_too(data: Path) -> None:
    found = closest(open_corpus(f"cord:{data}/cord@test"), open_corpus(f"cord:{data}/cord@train"))
    same = {pair.document for pair in found if pair.share == 1}
    assert {"receipt_00068", "receipt_00069", "receipt_00090"} <= same
