from pathlib import Path

import pytest

from benchmarks import extract
from formnet.extraction.extractor import Extractor
from plain_documents import documents


def test_benchmark_extract_reports_ratio_to_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Extractor, "warm_up", lambda _: None)  # takes half a minute, and has its own test
    result = extract.benchmark(Extractor.from_pretrained(model), list(documents(6)), repeats=2)
    milliseconds = result["milliseconds_per_document"]
    assert 0 < result["ratio_to_model"] == pytest.approx(milliseconds["bare"] / milliseconds["whole"], rel=0.5)
    assert {"encoding", "collating", "decoding"} < set(milliseconds)
    low, high = result["structure_to_entities_spread"]
    assert 0 < low <= result["structure_to_entities"] <= high


def test_entity_extractor_finds_the_same_entities(model: Path) -> None:
    extractor = Extractor.from_pretrained(model)
    expected = extractor.extract(list(documents(3)))
    found = extract.EntityExtractor.from_extractor(extractor).extract(list(documents(3)))
    assert [document.entities for document in found] == [document.entities for document in expected]
    assert not any(document.links for document in found)
