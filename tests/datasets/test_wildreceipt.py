from collections import Counter
from pathlib import Path

from formnet.datasets import open_corpus


def test_wildreceipt_labels_match_published_counts(data: Path) -> None:
    counts = Counter(e.label for d in open_corpus(f"wildreceipt:{data}/wildreceipt@test") for e in d.entities)
    assert counts["line_items.description"] == 2_371
    assert counts["total"] == 575
    assert counts["tip"] == 29
    assert len(counts) == 12  # captions and other lines are not labeled
