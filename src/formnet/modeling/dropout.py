"""Dropout whose dice cost less than the network: on a CPU torch throws them one by one, on one core."""

import numpy as np
import torch
from torch import Tensor, nn

_LEVELS = 2**16


class Dropout(nn.Dropout):
    """Drops numbers with the probability given, to a 65,536th; seeded by torch, so that runs repeat."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """Drop some numbers and raise the others."""
        if not self.training or self.p == 0 or input.device.type != "cpu" or torch.compiler.is_compiling():
            return super().forward(input)
        cut = round(self.p * _LEVELS)
        seed = int(torch.randint(2**62, ()))
        dice = np.random.SFC64(seed).random_raw(-(-input.numel() // 4)).view(np.int16)[: input.numel()]
        kept = torch.from_numpy(dice).view(input.shape) >= cut - _LEVELS // 2
        return input * kept.to(input.dtype).mul_(_LEVELS / max(_LEVELS - cut, 1))
