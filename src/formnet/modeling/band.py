"""The band around the diagonal in which tokens see each other, laid out in blocks, with its geometry worked out once.

The batch is one long row of tokens: documents lie one behind the other, and a pair is in the band if both are of the
same document, the key is not padding, and they are at most the radius apart. A block's queries see a window of keys.

M tokens (a multiple of the block), T blocks, L tokens a block, W keys a window.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

#: Queries a block. Windows are a block and twice the radius wide, so small blocks waste fewer pairs.
BLOCK = 64
#: What a masked pair scores; large enough to vanish, small enough to stay finite.
MASKED = -1e9


@dataclass(frozen=True)
class Band:
    """Which pairs see each other and how they stand, for all heads and layers."""

    block: int
    radius: int
    mask: Tensor  # [T, L, W] 0 or MASKED
    steps: Tensor | None  # [T, 2, L, W] sign(Δ)·ln(1 + |Δ|) along x and y, from query to key

    @property
    def window(self) -> int:
        """Keys a block sees."""
        return self.block + 2 * self.radius

    @property
    def tokens(self) -> int:
        """Tokens in all blocks, padding included."""
        return self.mask.shape[0] * self.block

    def rows(self, tokens: Tensor) -> Tensor:
        """Lay tokens [B, N, …] out in blocks: [T, L, …]."""
        flat = tokens.flatten(0, 1)
        flat = _pad_rows(flat, 0, self.tokens - len(flat))
        return flat.unflatten(0, (-1, self.block))

    def windowed(self, tokens: Tensor) -> Tensor:
        """Lay tokens [B, N, …] in one row with a margin for the first and the last window: [tokens + 2·radius, …]."""
        flat = tokens.flatten(0, 1)
        return _pad_rows(flat, self.radius, self.tokens - len(flat) + self.radius)

    def windows(self, row: Tensor) -> Tensor:
        """See a row with its margin as overlapping windows, without a copy: [T, …, W]."""
        return row.unfold(0, self.window, self.block)


def make_band(valid: Tensor, places: Tensor | None, radius: int, block: int = BLOCK) -> Band:
    """Lay out the band of a batch; `valid` [B, N] are tokens that are not padding, `places` [B, N, 2] their centers."""
    batch, length = valid.shape
    device = valid.device
    total = max(math.ceil(batch * length / block), 1) * block
    index = torch.arange(total, device=device).unflatten(0, (-1, block))  # [T, L]
    key = torch.arange(-radius, total + radius, device=device).unfold(0, block + 2 * radius, block)  # [T, W]
    document = torch.div(key, max(length, 1), rounding_mode="floor")
    flat_valid = F.pad(valid.flatten(), (radius, total - batch * length + radius)).unfold(0, block + 2 * radius, block)
    apart = key[:, None, :] - index[:, :, None]  # [T, L, W]
    same = document[:, None, :] == torch.div(index, max(length, 1), rounding_mode="floor")[:, :, None]
    seen = same & flat_valid[:, None, :] & (apart.abs() <= radius)
    seen |= apart == 0  # padding sees itself, so that no row is empty
    dtype = torch.float32 if places is None else torch.promote_types(places.dtype, torch.float32)
    mask = torch.zeros(seen.shape, dtype=dtype, device=device).masked_fill_(~seen, MASKED)
    band = Band(block, radius, mask, None)
    if places is None:
        return band
    away = (
        band.windows(band.windowed(places))[:, :, None, :] - band.rows(places).transpose(1, 2)[..., None]
    )  # [T, 2, L, W]
    steps = torch.sign(away) * torch.log1p(away.abs())
    return Band(block, radius, mask, steps.contiguous())  # tiles read each axis in one go


def _pad_rows(tokens: Tensor, before: int, after: int) -> Tensor:
    return F.pad(tokens, (*(0,) * (2 * (tokens.dim() - 1)), before, after))
