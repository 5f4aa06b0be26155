"""Batches of documents over all epochs."""

import numpy as np

from formnet.training.config import Optimization
from formnet.training.sampling import BucketBatchSampler


def test_bucket_batch_sampler_covers_each_epoch_across_ranks() -> None:
    lengths = np.random.default_rng(0).integers(10, 300, 50).tolist()
    settings = Optimization(max_batch_tokens=600, max_batch_documents=4)
    sampler = BucketBatchSampler(lengths, settings, epochs=3, seed=1)
    for epoch in range(3):
        documents = [document for batch in sampler for e, document, _ in batch if e == epoch]
        assert sorted(documents) == list(range(50))
    assert list(sampler) == list(BucketBatchSampler(lengths, settings, epochs=3, seed=1))
    assert list(sampler) != list(BucketBatchSampler(lengths, settings, epochs=3, seed=2))
    shares = [BucketBatchSampler(lengths, settings, 3, 1, rank, 2) for rank in (0, 1)]
    assert len(shares[0]) == len(shares[1])
    for left, right in zip(*shares, strict=True):
        assert all(len(share) <= 4 for share in (left, right))
    covered = sorted(index[:2] for share in shares for batch in share for index in batch if not index.filler)
    assert covered == sorted((epoch, document) for epoch in range(3) for document in range(50))


def test_bucket_batch_sampler_several_processes_respects_max_tokens() -> None:
    lengths = np.random.default_rng(0).integers(10, 900, 500).tolist()
    for num_processes in (1, 2, 4):
        for rank in range(num_processes):
            for batch in BucketBatchSampler(lengths, Optimization(max_batch_tokens=2048), 1, 0, rank, num_processes):
                assert len(batch) * max(lengths[index.document] for index in batch) <= 2048
