import numpy as np

from formnet.evaluation import entity_counts
from formnet.evaluation.counts import Counts, bootstrap_interval, sum_counts
from random_spans import random_spans


def test_bootstrap_interval_more_documents_is_narrower() -> None:
    generator = np.random.default_rng(0)

    def documents(count: int) -> list[Counts]:
        counts = []
        for _ in range(count):
            gold = random_spans(generator, 40)
            counts.append(entity_counts(gold, [span for span in gold if generator.random() < 0.8]))
        return counts

    few, many = documents(10), documents(400)
    for counts in (few, many):
        low, high = bootstrap_interval(counts)
        assert low <= sum_counts(counts).micro.score.f1 <= high
    widths = [high - low for low, high in (bootstrap_interval(few), bootstrap_interval(many))]
    assert widths[1] < widths[0] / 2
    assert bootstrap_interval([]) == (0.0, 0.0)
