"""Attention within the band: one entry point, several ways to the same numbers.

`dense` is the reference and reads like the paper; `blocked` is linear in length and runs anywhere; `compiled` is the
same tiles fused by torch.compile; `flex` is FlexAttention; `gathered` is for export to other engines. All give the
attended values and the logarithm of each row's normalizer, with which the global token is merged in afterwards.
"""

import math
import shutil
from functools import cache
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from formnet.modeling.attention_inputs import Layout, Tokens
from formnet.modeling.band import MASKED
from formnet.modeling.rich_attention import rich_scores
from formnet.modeling.tiles import band_attention

BACKENDS = ("auto", "dense", "blocked", "compiled", "flex", "gathered")
#: From this many tokens on, inference is worth the wait for a compiler.
WORTH_COMPILING = 4096


class Local(NamedTuple):
    """What tokens take from their neighborhood."""

    values: Tensor  # [B, N, H, D]
    log_normalizer: Tensor  # [B, N, H]


def local_attention(tokens: Tokens, layout: Layout, backend: str) -> Local:
    """Attend within the radius."""
    if backend == "dense":
        return dense_attention(tokens, layout)
    if backend == "flex":
        from formnet.modeling.flex import flex_attention_within

        return Local(*flex_attention_within(tokens, layout))
    if backend == "gathered":
        from formnet.modeling.gathered import gathered_attention

        return Local(*gathered_attention(tokens, layout))
    assert layout.band is not None
    return Local(*band_attention(tokens, layout.band, compiled=backend == "compiled"))


def dense_attention(tokens: Tokens, layout: Layout) -> Local:
    """Attend with every pair's weight written out."""
    weights, log_normalizer = dense_weights(tokens, layout)
    values = torch.einsum("bhij,bjhd->bihd", weights.to(tokens.value.dtype), tokens.value)
    return Local(values, log_normalizer.transpose(1, 2))


def dense_weights(tokens: Tokens, layout: Layout) -> tuple[Tensor, Tensor]:
    """Weigh every pair by s_ij = q_i·k_j + s⁽ᵒ⁾_ij + s⁽ᵈ⁾_ij (after Eq. 4): [B, H, N, N]; and normalizers [B, H, N]."""
    query, key, _, terms, relative = tokens
    valid, places, radius, _ = layout
    dtype = torch.promote_types(query.dtype, torch.float32)
    scores = torch.einsum("bihd,bjhd->bhij", query, key).to(dtype)
    if terms is not None:
        scores = scores + rich_scores(terms, places.to(dtype))
    number = torch.arange(query.shape[1], device=query.device)
    apart = number[None, :] - number[:, None]
    if relative is not None:
        reach = relative.shape[-1] // 2
        by_offset = torch.einsum("bihd,hdr->bhir", query, relative).to(dtype)
        which = (apart.clamp(-reach, reach) + reach).expand(*by_offset.shape[:2], -1, -1)
        scores = scores + by_offset.gather(-1, which)
    seen = ((apart.abs() <= radius) & valid[:, None, :]) | (apart == 0)  # [B, N, N]
    scores = scores.masked_fill(~seen[:, None], MASKED)
    log_normalizer = scores.logsumexp(-1)
    return torch.exp(scores - log_normalizer[..., None]), log_normalizer


def with_global(
    values: Tensor,
    log_normalizer: Tensor,
    query: Tensor,
    global_key: Tensor,
    global_value: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """Let every token see the global one too, under the same softmax: [B, N, H, D]; `bias` [H] adds to its score."""
    dtype = log_normalizer.dtype
    score = (query.to(dtype) * global_key[:, None].to(dtype)).sum(-1)
    if bias is not None:
        score = score + bias.to(dtype)
    share = torch.sigmoid(score - log_normalizer)[..., None]
    return (values + share * (global_value[:, None].to(dtype) - values)).to(values.dtype)


def global_attention(query: Tensor, keys: Tensor, values: Tensor, valid: Tensor) -> Tensor:
    """Let the global token, the first of the keys [B, 1 + N, H, D], see itself and all others: [B, H, D]."""
    dtype = torch.promote_types(query.dtype, torch.float32)
    scores = (query[:, None].to(dtype) * keys.to(dtype)).sum(-1)  # [B, 1 + N, H]
    scores = scores.masked_fill(~F.pad(valid, (1, 0), value=True)[..., None], -math.inf)
    return (scores.softmax(1)[..., None] * values.to(dtype)).sum(1).to(values.dtype)


def choose_backend(backend: str, states: Tensor, worth: int = WORTH_COMPILING) -> str:
    """Compile for training and for long batches, where a compiler is at hand; otherwise take plain tiles.

    What was done before decides nothing, so that the same batch always gives the same numbers.
    """
    if backend not in BACKENDS:
        raise ValueError(f"attention backend {backend!r} is not among {', '.join(BACKENDS)}.")
    if backend != "auto":
        return backend
    if torch.compiler.is_compiling() or states.dtype == torch.float64:
        return "blocked"
    long_enough = states.requires_grad or states.shape[0] * states.shape[1] >= worth
    return "compiled" if long_enough and (states.is_cuda or has_compiler()) else "blocked"


@cache
def has_compiler() -> bool:
    """Tell whether torch.compile has what it needs on a processor."""
    return any(shutil.which(name) for name in ("g++", "c++", "clang++"))
