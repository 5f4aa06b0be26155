"""Attention within the radius for export: gathers and products with dynamic shapes, which other engines support.

Shapes: B documents, N tokens, H heads, D values per head, T blocks, L queries per block, W keys per window.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from formnet.modeling.attention.band import BLOCK, MASKED
from formnet.modeling.attention.inputs import AttentionGeometry, AttentionInputs, LocalAttention, RichTerms

#: Order and distance scores of pairs, from terms that broadcast to them and their offsets [..., 2].
PairScores = Callable[[RichTerms, Tensor], Tensor]


def export_attention(inputs: AttentionInputs, geometry: AttentionGeometry, pair_scores: PairScores) -> LocalAttention:
    """Attend within the radius: each document is cut into blocks of queries, and each block sees a window of keys."""
    query, key, value, terms, relative = inputs
    device, length, radius = query.device, query.shape[1], geometry.radius
    blocks = (length + BLOCK - 1) // BLOCK
    start = BLOCK * torch.arange(blocks, device=device)[:, None]
    row = torch.arange(BLOCK, device=device) + start  # [T, L]
    column = torch.arange(BLOCK + 2 * radius, device=device) - radius + start  # [T, W]
    distance = column[:, None, :] - row[:, :, None]  # [T, L, W]
    inside = (column >= 0) & (column < length)
    rows, columns = row.clamp(max=length - 1), column.clamp(min=0).clamp(max=length - 1)
    scores = torch.einsum("btlhd,btwhd->bthlw", query[:, rows], key[:, columns])
    if terms is not None:
        at_query, at_key = geometry.centers[:, rows], geometry.centers[:, columns]
        delta = at_key[:, :, None, :] - at_query[:, :, :, None]  # [B, T, L, W, 2]
        scores = scores + pair_scores(_gather_terms(terms, rows, columns), delta[:, :, None])
    if relative is not None:
        max_distance = relative.shape[-1] // 2
        by_distance = torch.einsum("btlhd,hdr->bthlr", query[:, rows], relative)
        index = (distance.clamp(-max_distance, max_distance) + max_distance)[None, :, None]
        scores = scores + by_distance.gather(-1, index.expand(*by_distance.shape[:4], -1))
    visible = (geometry.valid[:, columns] & inside)[:, :, None, :] & (distance.abs() <= radius) | (distance == 0)
    scores = torch.where(visible[:, :, None], scores, MASKED)
    log_normalizer = scores.logsumexp(-1)  # [B, T, H, L]
    weights = torch.exp(scores - log_normalizer[..., None])
    values = torch.einsum("bthlw,btwhd->btlhd", weights, value[:, columns])
    return LocalAttention(values.flatten(1, 2)[:, :length], log_normalizer.transpose(2, 3).flatten(1, 2)[:, :length])


def _gather_terms(terms: RichTerms, rows: Tensor, columns: Tensor) -> RichTerms:
    """Arrange terms by block so that they broadcast to [B, T, H, L, W, 2]."""

    def of_queries(term: Tensor) -> Tensor:
        return term[:, rows].transpose(2, 3)[..., None, :]

    def of_keys(term: Tensor) -> Tensor:
        return term[:, columns].transpose(2, 3)[:, :, :, None]

    return RichTerms(
        of_queries(terms.order_query),
        of_keys(terms.order_key),
        of_queries(terms.mean_query),
        of_keys(terms.mean_key),
        terms.theta[:, None, None],
    )
