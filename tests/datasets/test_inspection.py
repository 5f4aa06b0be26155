from pathlib import Path

import pytest

from formnet.datasets import open_corpus
from formnet.datasets.inspection import AlignmentReport


@pytest.mark.slow
@pytest.mark.parametrize(("corpus", "share"), [("sroie:sroie@train", 0.97), ("adbuy:adbuy@train", 0.96)])
def test_alignment_report_public_corpora_reach_coverage(data: Path, corpus: str, share: float) -> None:
    kind, _, path = corpus.partition(":")
    report = AlignmentReport()
    for document in open_corpus(f"{kind}:{data}/{path}"):
        report.add(document)
    overall = report.overall
    assert overall.found / overall.values >= share
    assert len(report.misses) == overall.values - overall.found
    assert len(report.hits) == overall.found
