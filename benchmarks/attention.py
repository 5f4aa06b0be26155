"""Cost of Rich Attention with a global token relative to scaled dot-product attention within the same radius."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from benchmarks.memory import peak_megabytes
from benchmarks.timing import time_call
from formnet.extraction.runtime import has_native_bf16
from formnet.modeling.attention import compile_if, make_geometry
from formnet.modeling.attention.band import BLOCK, MASKED, Band
from formnet.modeling.attention.inputs import AttentionInputs
from formnet.modeling.formnet import RichAffine, add_global_token, global_attention, local_attention

HEADS, HEAD_SIZE, RADIUS = 12, 32, 84
TOKENS = (1_024, 4_096, 16_384)
#: bfloat16 only where the hardware multiplies in it.
DTYPES = {"float32": torch.float32, **({"bfloat16": torch.bfloat16} if has_native_bf16() else {})}


def benchmark(
    tokens: tuple[int, ...] = TOKENS,
    dtypes: tuple[str, ...] = tuple(DTYPES),
    repeats: int = 15,
    backend: str = "compiled",
) -> dict[str, Any]:
    """Measure each length and precision; ratios are medians over repeats."""
    cases = [measure(count, dtype, repeats, backend) for count in tokens for dtype in dtypes]
    return {"cases": cases, "backend": backend, "block": BLOCK}


def measure(tokens: int, dtype: str, repeats: int, backend: str) -> dict[str, Any]:
    """Measure one length and precision."""
    torch.manual_seed(0)
    query, key, value = (
        torch.randn(1, 1 + tokens, HEADS, HEAD_SIZE).to(DTYPES[dtype]).requires_grad_() for _ in range(3)
    )
    centers = torch.stack([torch.rand(tokens) * 1000, torch.arange(tokens) / 10], dim=-1)[None]
    valid = torch.ones(1, tokens, dtype=torch.bool)
    geometry = make_geometry(valid, centers, RADIUS, backend, rich=True)
    band = geometry.band
    assert band is not None
    affine = RichAffine(HEADS, HEAD_SIZE)
    for parameter in affine.parameters():
        torch.nn.init.uniform_(parameter, -0.3, 0.3)
    global_bias = torch.zeros(HEADS, requires_grad=True)
    merge, attend = (compile_if(backend, function) for function in (add_global_token, global_attention))

    def rich_attention() -> Tensor:
        scaled = query * HEAD_SIZE**-0.5
        terms = affine(query[:, 1:], key[:, 1:])
        local = local_attention(AttentionInputs(scaled[:, 1:], key[:, 1:], value[:, 1:], terms), geometry)
        rows = merge(*local, scaled[:, 1:], key[:, 0], value[:, 0], global_bias)
        return torch.cat([attend(scaled[:, 0], key, value, valid)[:, None], rows], dim=1)

    blocks = _split_blocks(band, query, key, value)
    mask = (band.mask > MASKED / 2)[:, None]

    def plain_attention() -> Tensor:
        return F.scaled_dot_product_attention(blocks[0], blocks[1], blocks[2], attn_mask=mask)

    both = (rich_attention, [query, key, value, *affine.parameters()]), (plain_attention, blocks)
    forward, train = [_forward(f) for f, _ in both], [_train(f, leaves) for f, leaves in both]
    forward_ratio, forward_ms = _ratio(forward[0], forward[1], repeats)
    train_ratio, train_ms = _ratio(train[0], train[1], repeats)
    return {
        "tokens": tokens,
        "dtype": dtype,
        "forward_ratio": forward_ratio["median"],
        "train_ratio": train_ratio["median"],
        "peak_mb": peak_megabytes(train[0]),
        "forward_spread": forward_ratio["spread"],
        "train_spread": train_ratio["spread"],
        "milliseconds": {"forward": forward_ms, "train": train_ms},
    }


def _split_blocks(band: Band, *tensors: Tensor) -> list[Tensor]:
    query, key, value = (tensor.detach()[:, 1:] for tensor in tensors)
    windows = (band.windows(band.with_margin(tensor)).transpose(2, 3) for tensor in (key, value))
    return [block.contiguous().requires_grad_() for block in (band.blocks(query).transpose(1, 2), *windows)]


def _forward(function: Callable[[], Tensor]) -> Callable[[], None]:
    def run() -> None:
        with torch.no_grad():
            function()

    return run


def _train(function: Callable[[], Tensor], leaves: list[Tensor]) -> Callable[[], None]:
    def run() -> None:
        result = function()
        torch.autograd.grad(result, leaves, torch.ones_like(result))

    return run


def _ratio(
    rich: Callable[[], None], plain: Callable[[], None], repeats: int
) -> tuple[dict[str, Any], dict[str, float]]:
    """Time both alternately, and return the median and spread of the ratio and both medians in milliseconds."""
    rich()  # compiles
    rich()
    plain()
    times = np.array([[time_call(rich), time_call(plain)] for _ in range(repeats)])
    ratios = times[:, 0] / times[:, 1]
    low, median, high = np.percentile(ratios, (10, 50, 90)).tolist()
    rich_ms, plain_ms = (np.median(times, axis=0) * 1e3).tolist()
    return {"median": median, "spread": [low, high]}, {"rich": rich_ms, "bare": plain_ms}
