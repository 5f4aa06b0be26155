import torch

from benchmarks.memory import peak_megabytes


def test_peak_megabytes_large_tensor_is_counted() -> None:
    assert 60 < peak_megabytes(lambda: torch.ones(20 * 2**20).sum()) < 200
