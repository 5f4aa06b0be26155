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
