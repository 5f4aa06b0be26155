"""The band around the diagonal within which tokens attend to each other, in blocks, with its geometry precomputed.

The batch is one long sequence of tokens, document after document. A pair is in the band if both tokens are of the same
document, the key is not padding, and they are at most the radius distance. A block of queries sees a window of keys.

Shapes: T blocks, L queries per block, W keys per window.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

#: Queries per block. A window is a block plus twice the radius, so small blocks waste fewer pairs.
BLOCK = 64
#: Score of a masked pair: its weight is zero, and sums of it stay finite.
MASKED = -1e9


@dataclass(frozen=True)
class Band:
    """Mask and offsets of all pairs in the band, shared by all heads and layers."""

    block: int
    radius: int
    mask: Tensor  # [T, L, W] 0 or MASKED
    log_offsets: Tensor | None  # [T, 2, L, W] sign(Δ)·ln(1 + |Δ|) along x and y, from query to key

    @property
    def window(self) -> int:
        """Keys per window."""
        return self.block + 2 * self.radius

    @property
    def tokens(self) -> int:
        """Tokens in all blocks, including padding."""
        return self.mask.shape[0] * self.block

    def blocks(self, tokens: Tensor) -> Tensor:
        """Arrange tokens [B, N, …] in blocks: [T, L, …]."""
        flat = tokens.flatten(0, 1)
        flat = _pad(flat, 0, self.tokens - len(flat))
        return flat.unflatten(0, (-1, self.block))

    def with_margin(self, tokens: Tensor) -> Tensor:
        """Flatten tokens [B, N, …] with a margin for the first and last window: [tokens + 2·radius, …]."""
        flat = tokens.flatten(0, 1)
        return _pad(flat, self.radius, self.tokens - len(flat) + self.radius)

    def windows(self, padded: Tensor) -> Tensor:
        """View tokens with their margin as overlapping windows: [T, …, W]."""
        return padded.unfold(0, self.window, self.block)


def make_band(valid: Tensor, centers: Tensor | None, radius: int, block: int = BLOCK) -> Band:
    """Build the band of a batch; `valid` [B, N] is False for padding, `centers` [B, N, 2] are the tokens' positions."""
    batch, length = valid.shape
    device = valid.device
    total = max(math.ceil(batch * length / block), 1) * block
    index = torch.arange(total, device=device).unflatten(0, (-1, block))  # [T, L]
    key = torch.arange(-radius, total + radius, device=device).unfold(0, block + 2 * radius, block)  # [T, W]
    document = torch.div(key, max(length, 1), rounding_mode="floor")
    flat_valid = F.pad(valid.flatten(), (radius, total - batch * length + radius)).unfold(0, block + 2 * radius, block)
    distance = key[:, None, :] - index[:, :, None]  # [T, L, W]
    same_document = document[:, None, :] == torch.div(index, max(length, 1), rounding_mode="floor")[:, :, None]
    visible = same_document & flat_valid[:, None, :] & (distance.abs() <= radius)
    visible |= distance == 0  # padding attends to itself, so that no row is empty
    dtype = torch.float32 if centers is None else torch.promote_types(centers.dtype, torch.float32)
    mask = torch.zeros(visible.shape, dtype=dtype, device=device).masked_fill_(~visible, MASKED)
    band = Band(block, radius, mask, None)
    if centers is None:
        return band
    delta = (
        band.windows(band.with_margin(centers))[:, :, None, :] - band.blocks(centers).transpose(1, 2)[..., None]
    )  # [T, 2, L, W]
    log_offsets = torch.sign(delta) * torch.log1p(delta.abs())
    return Band(block, radius, mask, log_offsets.contiguous())


def _pad(tokens: Tensor, before: int, after: int) -> Tensor:
    return F.pad(tokens, (*(0,) * (2 * (tokens.dim() - 1)), before, after))
