"""Inputs and outputs of local attention, shared by the dense reference and the fast backends.

Shapes: B documents, N tokens, H heads, D values per head.
"""

from typing import NamedTuple

from torch import Tensor

from formnet.modeling.attention.band import Band


class RichTerms(NamedTuple):
    """Query and key terms of Rich Attention's affine functions, along x and y."""

    order_query: Tensor  # [B, N, H, 2]
    order_key: Tensor  # [B, N, H, 2]
    mean_query: Tensor  # [B, N, H, 2]
    mean_key: Tensor  # [B, N, H, 2]
    theta: Tensor  # [H, 2]


class AttentionInputs(NamedTuple):
    """Inputs of one layer's attention among tokens; queries are already scaled."""

    query: Tensor  # [B, N, H, D]
    key: Tensor  # [B, N, H, D]
    value: Tensor  # [B, N, H, D]
    terms: RichTerms | None = None  # of Rich Attention
    relative: Tensor | None = None  # [H, D, 2R + 1], of ETC's clipped relative positions


class AttentionGeometry(NamedTuple):
    """Positions of a batch's tokens and the backend for it, computed once and used by every layer."""

    valid: Tensor  # [B, N], False for padding
    centers: Tensor  # [B, N, 2]
    radius: int
    backend: str
    band: Band | None = None  # of the tiled backends


class LocalAttention(NamedTuple):
    """Attended values and the log of each softmax's normalizer, which lets the global token be added afterwards."""

    values: Tensor  # [B, N, H, D]
    log_normalizer: Tensor  # [B, N, H]
