"""Random inputs for local attention, and a call of it by backend."""

from typing import NamedTuple

import torch
from torch import Tensor

from formnet.modeling.attention import make_geometry
from formnet.modeling.attention.inputs import AttentionInputs, LocalAttention
from formnet.modeling.formnet import RichAffine, local_attention


class Case(NamedTuple):
    """Random queries, keys and values [B, N, H, D], with what Rich Attention needs."""

    tensors: list[Tensor]
    centers: Tensor  # [B, N, 2]
    valid: Tensor  # [B, N]; documents of a batch differ in length
    affine: RichAffine


def make_case(
    batch: int, length: int, heads: int = 2, size: int = 8, dtype: torch.dtype = torch.float32, scale: float = 1.0
) -> Case:
    """Draw a case; the seed depends on its shape."""
    torch.manual_seed(batch * 1000 + length)
    tensors = [(torch.randn(batch, length, heads, size) * scale).to(dtype).requires_grad_() for _ in range(3)]
    centers = (torch.rand(batch, length, 2) * 1000).to(torch.promote_types(dtype, torch.float32))
    valid = torch.arange(length)[None] < torch.linspace(length, max(length // 3, 1), batch).long()[:, None]
    affine = RichAffine(heads, size)
    for parameter in affine.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return Case(tensors, centers, valid, affine)


def attend(backend: str, case: Case, radius: int, rich: bool = True) -> LocalAttention:
    """Attend by a backend, with Rich Attention or with ETC's clipped relative positions."""
    query, key, value = case.tensors
    geometry = make_geometry(case.valid, case.centers, radius, backend, rich=rich)
    terms = case.affine(query, key) if rich else None
    relative = None if rich else torch.linspace(-1, 1, 2 * 8 * 25).view(2, 8, 25)
    return local_attention(AttentionInputs(query, key, value, terms, relative), geometry)
