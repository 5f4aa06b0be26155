import torch

from formnet.modeling.attention.band import make_band


def test_make_band_size_is_linear_in_length() -> None:
    for length in (1000, 16_000):
        band = make_band(torch.ones(1, length, dtype=torch.bool), torch.rand(1, length, 2), 84)
        assert band.mask.numel() <= (length + 64) * band.window
