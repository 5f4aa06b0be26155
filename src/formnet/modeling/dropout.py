"""Dropout with a fast random number generator on CPUs, where torch's own is sequential and slower than the network."""

import numpy as np
import torch
from torch import Tensor, nn

_LEVELS = 2**16


class Dropout(nn.Dropout):
    """Dropout whose probability is rounded to 1/65,536; seeded by torch, so that runs are reproducible."""

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """Zero values at random and scale the others up."""
        if not self.training or self.p == 0 or input.device.type != "cpu" or torch.compiler.is_compiling():
            return super().forward(input)
        cut = round(self.p * _LEVELS)
        seed = int(torch.randint(2**62, ()))
        random = np.random.SFC64(seed).random_raw(-(-input.numel() // 4)).view(np.int16)[: input.numel()]
        kept = torch.from_numpy(random).view(input.shape) >= cut - _LEVELS // 2
        return input * kept.to(input.dtype).mul_(_LEVELS / max(_LEVELS - cut, 1))
