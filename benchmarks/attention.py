"""What Rich Attention with a global token costs over bare scaled-dot-product attention on the same blocked band."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from benchmarks.memory import peak_megabytes
from benchmarks.timing import seconds_of
from formnet.modeling.attention_inputs import Tokens, make_layout
from formnet.modeling.band import BLOCK, MASKED, Band
from formnet.modeling.local_attention import global_attention, local_attention, with_global
from formnet.modeling.rich_attention import RichAffine
from formnet.modeling.tiles import fused

HEADS, HEAD_SIZE, RADIUS = 12, 32, 84
TOKENS = (1_024, 4_096, 16_384)
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


def benchmark(
    tokens: tuple[int, ...] = TOKENS,
    dtypes: tuple[str, ...] = tuple(DTYPES),
    repeats: int = 15,
    backend: str = "compiled",
) -> dict[str, Any]:
    """Measure every length and precision, both ways in turn; ratios are medians over repeats."""
    cases = [measure(count, dtype, repeats, backend) for count in tokens for dtype in dtypes]
    return {"cases": cases, "backend": backend, "block": BLOCK}


def measure(tokens: int, dtype: str, repeats: int, backend: str) -> dict[str, Any]:
    """Measure one case."""
    torch.manual_seed(0)
    query, key, value = (
        torch.randn(1, 1 + tokens, HEADS, HEAD_SIZE).to(DTYPES[dtype]).requires_grad_() for _ in range(3)
    )
    places = torch.stack([torch.rand(tokens) * 1000, torch.arange(tokens) / 10], dim=-1)[None]
    valid = torch.ones(1, tokens, dtype=torch.bool)
    layout = make_layout(valid, places, RADIUS, backend, rich=True)
    band = layout.band
    assert band is not None
    affine = RichAffine(HEADS, HEAD_SIZE)
    for parameter in affine.parameters():
        torch.nn.init.uniform_(parameter, -0.3, 0.3)
    to_global = torch.zeros(HEADS, requires_grad=True)

    merge = fused(with_global) if backend == "compiled" else with_global
    look = fused(global_attention) if backend == "compiled" else global_attention

    def rich() -> Tensor:
        scaled = query * HEAD_SIZE**-0.5
        terms = affine(query[:, 1:], key[:, 1:])
        local = local_attention(Tokens(scaled[:, 1:], key[:, 1:], value[:, 1:], terms), layout, backend)
        rows = merge(*local, scaled[:, 1:], key[:, 0], value[:, 0], to_global)
        return torch.cat([look(scaled[:, 0], key, value, valid)[:, None], rows], dim=1)

    blocks = _bare_blocks(band, query, key, value)
    seen = (band.mask > MASKED / 2)[:, None]

    def bare() -> Tensor:
        return F.scaled_dot_product_attention(blocks[0], blocks[1], blocks[2], attn_mask=seen)

    both = (rich, [query, key, value, *affine.parameters()]), (bare, blocks)
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


def _bare_blocks(band: Band, *tokens: Tensor) -> list[Tensor]:
    query, key, value = (t.detach()[:, 1:] for t in tokens)
    blocks = [band.rows(query).transpose(1, 2), *(band.windows(band.windowed(t)).transpose(2, 3) for t in (key, value))]
    return [block.contiguous().requires_grad_() for block in blocks]


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


def _ratio(ours: Callable[[], None], bare: Callable[[], None], repeats: int) -> tuple[dict[str, Any], dict[str, float]]:
    """Time both in turn: the ratio's median and spread, and both medians in milliseconds."""
    ours()  # compile
    ours()
    bare()
    times = np.array([[seconds_of(ours), seconds_of(bare)] for _ in range(repeats)])
    ratios = times[:, 0] / times[:, 1]
    low, middle, high = np.percentile(ratios, (10, 50, 90)).tolist()
    ours_ms, bare_ms = (np.median(times, axis=0) * 1e3).tolist()
    return {"median": middle, "spread": [low, high]}, {"rich": ours_ms, "bare": bare_ms}
