"""Attention within the band for export: plain gathers and products, whose shapes may all vary.

The same numbers as the tiles, in operations that other engines have. Each document's tokens are laid out in blocks, and
a block's queries see a window of keys. B documents, N tokens, H heads, D numbers a head, T blocks, L tokens a block, W
keys a window.
"""

import math

import torch
from torch import Tensor

from formnet.modeling.attention_inputs import Layout, Tokens
from formnet.modeling.band import BLOCK, MASKED
from formnet.modeling.rich_attention import RichTerms


def gathered_attention(tokens: Tokens, layout: Layout) -> tuple[Tensor, Tensor]:
    """Attend within the band: values [B, N, H, D] and the logarithm of each row's normalizer [B, N, H]."""
    query, key, value, terms, relative = tokens
    valid, places, radius, _ = layout
    length = query.shape[1]
    blocks = (length + BLOCK - 1) // BLOCK
    row = (
        torch.arange(BLOCK, device=query.device) + BLOCK * torch.arange(blocks, device=query.device)[:, None]
    )  # [T, L]
    column = torch.arange(BLOCK + 2 * radius, device=query.device) - radius
    column = column + BLOCK * torch.arange(blocks, device=query.device)[:, None]  # [T, W]
    apart = column[:, None, :] - row[:, :, None]  # [T, L, W]
    there = (column >= 0) & (column < length)
    rows, columns = row.clamp(max=length - 1), column.clamp(min=0).clamp(max=length - 1)
    scores = torch.einsum("btlhd,btwhd->bthlw", query[:, rows], key[:, columns])
    if terms is not None:
        scores = scores + _rich(terms, places, rows, columns)
    if relative is not None:
        reach = relative.shape[-1] // 2
        by_offset = torch.einsum("btlhd,hdr->bthlr", query[:, rows], relative)
        which = (apart.clamp(-reach, reach) + reach)[None, :, None]
        scores = scores + by_offset.gather(-1, which.expand(*by_offset.shape[:4], -1))
    seen = (valid[:, columns] & there)[:, :, None, :] & (apart.abs() <= radius) | (apart == 0)  # [B, T, L, W]
    scores = torch.where(seen[:, :, None], scores, MASKED)
    log_normalizer = scores.logsumexp(-1)  # [B, T, H, L]
    weights = torch.exp(scores - log_normalizer[..., None])
    values = torch.einsum("bthlw,btwhd->btlhd", weights, value[:, columns])
    return values.flatten(1, 2)[:, :length], log_normalizer.transpose(2, 3).flatten(1, 2)[:, :length]


def _rich(terms: RichTerms, places: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    """What order and distance add (Eqs. 1–4), with ln 2 an axis so that an undecided order adds nothing."""
    total: Tensor | float = 2 * math.log(2.0)
    for axis in (0, 1):
        at = places[..., axis]
        delta = at[:, columns][:, :, None, :] - at[:, rows][:, :, :, None]  # [B, T, L, W]
        logit = _pairs(terms.order_row, terms.order_column, axis, rows, columns)  # [B, T, H, L, W]
        mean = _pairs(terms.mean_row, terms.mean_column, axis, rows, columns)
        signed = torch.where((delta > 0)[:, :, None], logit, -logit)
        off = torch.log1p(delta.abs())[:, :, None] - mean
        sharp = terms.sharpness[:, axis, None, None]
        # ln σ by hand: other engines take the logarithm of a sigmoid that has vanished.
        order = signed.clamp(max=0) - torch.log1p(torch.exp(-signed.abs()))
        total = total + order - sharp**2 * off**2 / 2
    assert isinstance(total, Tensor)
    return total


def _pairs(row: Tensor, column: Tensor, axis: int, rows: Tensor, columns: Tensor) -> Tensor:
    of_row = row[:, rows, :, axis].transpose(2, 3)[..., None]  # [B, T, H, L, 1]
    return of_row + column[:, columns, :, axis].transpose(2, 3)[:, :, :, None, :]
