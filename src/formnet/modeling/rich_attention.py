"""Rich Attention (Section 3.2 of the paper): what order and distance two tokens should have, and how far off they are.

B documents, N tokens, H heads, D numbers a head; axis 0 is x, axis 1 is y.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

#: Each half of an order logit is kept within this: σ(±30) is 0 or 1 to thirteen places, and products stay finite.
LARGEST_LOGIT = 15.0


class RichTerms(NamedTuple):
    """A layer's predictions, in the halves that the affine functions of [q_i; k_j] split into."""

    order_row: Tensor  # [B, N, H, 2] the query's half of the order logit
    order_column: Tensor  # [B, N, H, 2] the key's half
    mean_row: Tensor  # [B, N, H, 2] the query's half of the ideal log-distance
    mean_column: Tensor  # [B, N, H, 2]
    sharpness: Tensor  # [H, 2] θ


class RichAffine(nn.Module):
    """affine⁽ᵖ⁾ of Eq. 1 and affine⁽ᵘ⁾ of Eq. 2, for both axes, and θ of Eq. 4, for every head.

    With q and k as inputs (the paper's footnote) an affine function of [q_i; k_j] is a number of i plus a number of j.
    """

    def __init__(self, heads: int, head_size: int) -> None:
        super().__init__()
        self.row = nn.Parameter(torch.empty(heads, head_size, 4))  # order x, order y, mean x, mean y
        self.column = nn.Parameter(torch.empty(heads, head_size, 4))
        self.bias = nn.Parameter(torch.empty(heads, 4))
        self.sharpness = nn.Parameter(torch.empty(heads, 2))

    def forward(self, query: Tensor, key: Tensor) -> RichTerms:
        """Predict from queries and keys [B, N, H, D]."""
        # What follows is exponentiated, and so goes on in full precision.
        dtype = torch.promote_types(query.dtype, torch.float32)
        with torch.autocast(query.device.type, enabled=False):
            row = _per_head(query, self.row).to(dtype)
            column = _per_head(key, self.column).to(dtype) + self.bias.to(dtype)
        limit = LARGEST_LOGIT
        return RichTerms(
            row[..., :2].clamp(-limit, limit),
            column[..., :2].clamp(-limit, limit),
            row[..., 2:],
            column[..., 2:],
            self.sharpness.to(dtype),
        )


def _per_head(tokens: Tensor, weight: Tensor) -> Tensor:
    """Multiply each head's numbers with its own matrix, as one product with all of them on a diagonal: [B, N, H, 4]."""
    return (tokens.flatten(2) @ torch.block_diag(*weight.to(tokens.dtype))).unflatten(-1, (len(weight), -1))


def rich_scores(terms: RichTerms, places: Tensor) -> Tensor:
    """Give what order and distance add to every pair's score, as the paper writes it: [B, H, N, N].

    The reference that faster ways are tested against. `places` are the tokens' centers [B, N, 2].
    """
    total = torch.zeros((), dtype=places.dtype, device=places.device)
    for axis in (0, 1):
        delta = places[:, None, :, axis] - places[:, :, None, axis]  # [B, N, N] from i to j
        order = (delta > 0)[:, None]  # o_ij = {i < j}
        distance = torch.log1p(delta.abs())[:, None]  # d_ij = ln(1 + |i − j|)
        logit = _pairs(terms.order_row[..., axis], terms.order_column[..., axis])  # Eq. 1: p_ij = σ(logit)
        mean = _pairs(terms.mean_row[..., axis], terms.mean_column[..., axis])  # Eq. 2: μ_ij
        order_score = torch.where(order, F.logsigmoid(logit), F.logsigmoid(-logit))  # Eq. 3
        distance_score = -(terms.sharpness[:, axis, None, None] ** 2) * (distance - mean) ** 2 / 2  # Eq. 4
        # The constant makes an undecided order (p = ½) weigh nothing beside the global token, which has no order.
        total = total + order_score + math.log(2.0) + distance_score
    return total


def _pairs(row: Tensor, column: Tensor) -> Tensor:
    """Add halves [B, N, H] of i and of j: [B, H, N, N]."""
    return row.transpose(1, 2)[:, :, :, None] + column.transpose(1, 2)[:, :, None, :]
