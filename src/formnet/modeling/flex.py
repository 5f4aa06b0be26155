"""The same attention by FlexAttention, which GPUs run fused, forwards and backwards; CPUs only forwards, for tests."""

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention.flex_attention import AuxRequest, create_block_mask, flex_attention

from formnet.modeling.attention_inputs import Layout, Tokens


def flex_attention_within(tokens: Tokens, layout: Layout) -> tuple[Tensor, Tensor]:
    """Attend within the radius: values [B, N, H, D] and the logarithm of each row's normalizer [B, N, H]."""
    query, key, value, terms, relative = tokens
    valid, places, radius, _ = layout
    batch, length = valid.shape

    def seen(b: Tensor, _: Tensor, i: Tensor, j: Tensor) -> Tensor:
        return (((i - j).abs() <= radius) & valid[b, j]) | (i == j)

    mask = create_block_mask(seen, batch, None, length, length, device=query.device)
    q, k, v = (tensor.transpose(1, 2).contiguous() for tensor in (query, key, value))  # [B, H, N, D]
    if not torch.is_grad_enabled():
        q, k, v = q.detach(), k.detach(), v.detach()
    by_offset = None if relative is None else torch.einsum("bhnd,hdr->bhnr", q, relative)
    columns = [] if terms is None else [t.transpose(1, 2).contiguous() for t in terms[:4]]  # [B, H, N, 2]

    def score(dot: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        if terms is not None:
            order_row, order_column, mean_row, mean_column = columns
            for axis in (0, 1):
                delta = places[b, j, axis] - places[b, i, axis]
                logit = order_row[b, h, i, axis] + order_column[b, h, j, axis]
                off = torch.log1p(delta.abs()) - mean_row[b, h, i, axis] - mean_column[b, h, j, axis]
                signed = torch.where(delta > 0, logit, -logit)
                dot = dot - torch.log1p(torch.exp(-signed)) + math.log(2.0)
                dot = dot - (terms.sharpness[h, axis] * off) ** 2 / 2
        if by_offset is not None:
            reach = by_offset.shape[-1] // 2
            dot = dot + by_offset[b, h, i, (j - i).clamp(-reach, reach) + reach]
        return dot

    attend = _compiled() if query.is_cuda else flex_attention  # compiled on a CPU it cannot return the normalizer
    values, more = attend(q, k, v, score_mod=score, block_mask=mask, scale=1.0, return_aux=AuxRequest(lse=True))
    return values.transpose(1, 2), more.lse.transpose(1, 2)


@cache
def _compiled() -> Any:
    return torch.compile(flex_attention)
