"""Attention within the radius in tiles that fit the cache, forward and backward; fused by torch.compile if asked.

What makes it fast:

- An order score ln σ(±z) with z = a_i + b_j needs no logarithm per pair: inside the softmax's exponential it is the
  factor σ(±z) = 1/(1 + e) or e/(1 + e), with e = exp(−a_i)·exp(−b_j).
- The geometry of the band is shared by all heads and layers.
- Scores are exponentiated without subtracting each row's maximum first. Trained networks nearly always allow that;
  heads whose row totals show overflow or underflow are computed again with it.
- The backward pass computes each tile's scores again instead of storing them.

Shapes: G blocks per tile, H heads, L queries per block, W keys per window, D values per head.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from formnet.modeling.attention.band import Band
from formnet.modeling.attention.inputs import AttentionInputs, LocalAttention

#: Heads times blocks per tile: about six megabytes of scores, which fits the caches of two cores.
TILE = 96
#: A row whose total is within e^±MAX_LOG_TOTAL has neither overflowed nor lost precision.
MAX_LOG_TOTAL = 60.0


def tiled_attention(inputs: AttentionInputs, band: Band, *, compiled: bool) -> LocalAttention:
    """Attend within the band."""
    query, key, value, terms, relative = inputs
    if terms is None:
        return LocalAttention(*_plain_attention(query, key, value, relative, band, compiled))
    theta = terms.theta / math.sqrt(2)  # makes the distance score minus a square
    query_terms, key_terms = (compile_dynamic(_combine_terms) if compiled else _combine_terms)(*terms[:4], theta)
    if torch.compiler.is_compiling():  # part of a larger compiled graph
        tiles = make_tiles(query, key, value, query_terms, key_terms, band)
        values, log_normalizer = _stable_tile(*_tile_cutter(tiles, band, theta)(slice(None)))
        values, log_normalizer = _to_tokens(values, query), _to_tokens(log_normalizer, query)
    else:
        values, log_normalizer = _RichTiledAttention.apply(
            query, key, value, query_terms, key_terms, theta, band, compiled
        )
    # ln 2 per axis, as in `pair_scores`.
    return LocalAttention(values, log_normalizer + 2 * math.log(2.0))


def _combine_terms(
    order_query: Tensor, order_key: Tensor, mean_query: Tensor, mean_key: Tensor, theta: Tensor
) -> tuple[Tensor, Tensor]:
    """Concatenate order and mean terms of queries, and of keys: [B, N, H, 4] each."""
    query_terms, key_terms = (order_query, mean_query), (order_key, mean_key)
    return tuple(torch.cat([order, mean * theta], dim=-1) for order, mean in (query_terms, key_terms))  # type: ignore[return-value]


class TileInputs(NamedTuple):
    """Inputs contiguous along tokens, so that a tile is one read."""

    query: Tensor  # [T, H, L, D]
    key: Tensor  # [H, tokens with margin, D]
    value: Tensor
    query_terms: Tensor  # [T, 4, H, L] odds x, odds y, mean x, mean y
    key_terms: Tensor  # [4, H, tokens with margin]


def make_tiles(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_terms: Tensor,
    key_terms: Tensor,
    band: Band,
    *,
    compiled: bool = False,
) -> TileInputs:
    """Arrange tokens [B, N, H, …] for tiling; order logits become odds, e^{−a} and e^{−b}."""
    queries = _split_by_head(query, band, 0).unflatten(1, (-1, band.block)).transpose(0, 1)  # [T, H, L, D]
    keys, values = (_split_by_head(tokens, band, band.radius) for tokens in (key, value))
    odds = compile_dynamic(_to_odds) if compiled else _to_odds
    return TileInputs(queries, keys, values, *odds(band.blocks(query_terms), band.with_margin(key_terms)))


def _to_odds(query_terms: Tensor, key_terms: Tensor) -> tuple[Tensor, Tensor]:
    """Turn order logits [T, L, H, 4] and [tokens with margin, H, 4] into odds, with tokens last."""
    by_block, by_key = query_terms.permute(0, 3, 2, 1), key_terms.permute(2, 1, 0)
    is_order_block = (torch.arange(4, device=query_terms.device) < 2)[:, None, None]
    return (
        torch.where(is_order_block, torch.exp(-by_block), by_block).contiguous(),
        torch.where(is_order_block, torch.exp(-by_key), by_key).contiguous(),
    )


def _split_by_head(tokens: Tensor, band: Band, margin: int) -> Tensor:
    """Flatten tokens [B, N, H, D] per head, with a margin, in one copy: [H, margin + tokens + margin, D]."""
    batch, length, heads, size = tokens.shape
    row = tokens.new_empty(heads, band.tokens + 2 * margin, size)
    row[:, :margin] = 0
    row[:, margin + batch * length :] = 0
    row[:, margin : margin + batch * length].unflatten(1, (batch, length)).copy_(tokens.permute(2, 0, 1, 3))
    return row


def _to_tokens(blocks: Tensor, like: Tensor) -> Tensor:
    """Arrange blocks [T, H, L, …] as tokens: [B, N, H, …]."""
    batch, length = like.shape[:2]
    return blocks.transpose(1, 2).flatten(0, 1)[: batch * length].unflatten(0, (batch, length))


def _select_heads(tiles: TileInputs, heads: Tensor) -> TileInputs:
    """Select heads."""
    return TileInputs(
        tiles.query[:, heads],
        tiles.key[heads],
        tiles.value[heads],
        tiles.query_terms[:, :, heads],
        tiles.key_terms[:, heads],
    )


def _tile_cutter(tiles: TileInputs, band: Band, theta: Tensor) -> Callable[[slice], tuple[Tensor, ...]]:
    """Return a function from a slice of blocks to the arguments of a tile function."""
    assert band.log_offsets is not None
    keys, values = (x.unfold(1, band.window, band.block).permute(1, 0, 3, 2) for x in (tiles.key, tiles.value))
    key_terms = tiles.key_terms.unfold(2, band.window, band.block).permute(2, 0, 1, 3)  # [T, 4, H, W]
    log_offsets, mask = band.log_offsets, band.mask

    def cut(part: slice) -> tuple[Tensor, ...]:
        return (
            tiles.query[part],
            keys[part],
            values[part],
            tiles.query_terms[part],
            key_terms[part],
            theta,
            log_offsets[part],
            mask[part],
        )

    return cut


class _RichTiledAttention(torch.autograd.Function):
    """Rich Attention tile by tile; stores inputs and normalizers, and computes scores again for the backward pass."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,  # [B, N, H, D]
        key: Tensor,
        value: Tensor,
        query_terms: Tensor,  # [B, N, H, 4]
        key_terms: Tensor,
        theta: Tensor,  # [H, 2]
        band: Band,
        compiled: bool,
    ) -> tuple[Tensor, Tensor]:
        tile: Callable[..., Any] = compile_tile(_fast_tile) if compiled else _fast_tile
        tiles = make_tiles(query, key, value, query_terms, key_terms, band, compiled=compiled)
        cut = _tile_cutter(tiles, band, theta)
        values, log_normalizer = query.new_empty(tiles.query.shape), theta.new_empty(tiles.query.shape[:3])
        for part in _parts(tiles.query):
            values[part], log_normalizer[part] = tile(*cut(part))
        lost = ~(log_normalizer.abs() < MAX_LOG_TOTAL).all(2).all(0)  # [H]; also True for NaN
        if bool(lost.any()):
            heads = lost.nonzero().squeeze(1)
            tile = compile_tile(_stable_tile) if compiled else _stable_tile
            cut = _tile_cutter(_select_heads(tiles, heads), band, theta[heads])
            for part in _parts(tiles.query[:, heads]):
                values[part, heads], log_normalizer[part, heads] = tile(*cut(part))
        ctx.save_for_backward(*tiles, theta, values, log_normalizer)
        ctx.band, ctx.compiled, ctx.shape = band, compiled, query.shape
        return _to_tokens(values, query), _to_tokens(log_normalizer, query)

    @staticmethod
    def backward(ctx: Any, d_values: Tensor, d_log_normalizer: Tensor) -> Any:
        query, key, value, query_terms, key_terms, theta, values, log_normalizer = ctx.saved_tensors
        band: Band = ctx.band
        tiles = TileInputs(query, key, value, query_terms, key_terms)
        cut = _tile_cutter(tiles, band, theta)
        tile: Callable[..., Any] = compile_tile(_tile_backward) if ctx.compiled else _tile_backward
        d_values, d_log = band.blocks(d_values).transpose(1, 2), band.blocks(d_log_normalizer).transpose(1, 2)
        total, heads, block, size = tiles.query.shape
        d_query = tiles.query.new_empty(total, block, heads, size)
        d_query_terms, d_theta = theta.new_empty(total, block, heads, 4), torch.zeros_like(theta)
        overlap = _overlap(band)
        num_keys = (total + overlap) * block
        d_key, d_value, d_key_terms = (theta.new_zeros(num_keys, heads, width) for width in (size, size, 4))
        for part in _parts(tiles.query):
            results = tile(*cut(part), values[part], log_normalizer[part], d_values[part], d_log[part], overlap)
            d_query[part], d_query_terms[part] = results[0], results[1]
            span = slice(part.start * block, (part.stop + overlap) * block)
            for gradient, share in zip((d_key, d_value, d_key_terms), results[2:5], strict=True):
                gradient[span] += share
            d_theta += results[5]
        batch, length = ctx.shape[:2]
        own = slice(band.radius, band.radius + batch * length)
        d_key, d_value, d_key_terms = (x[own].unflatten(0, (batch, length)) for x in (d_key, d_value, d_key_terms))
        d_query, d_query_terms = (
            x.flatten(0, 1)[: batch * length].unflatten(0, (batch, length)) for x in (d_query, d_query_terms)
        )
        d_key, d_value = d_key.to(d_query.dtype), d_value.to(d_query.dtype)
        return d_query, d_key, d_value, d_query_terms, d_key_terms, d_theta, None, None


def _overlap(band: Band) -> int:
    """Return the number of blocks that a window reaches beyond its own."""
    return -(-2 * band.radius // band.block)


def _fast_tile(
    query: Tensor,  # [G, H, L, D]
    key: Tensor,  # [G, H, W, D]
    value: Tensor,
    query_terms: Tensor,  # [G, 4, H, L]
    key_terms: Tensor,  # [G, 4, H, W]
    theta: Tensor,  # [H, 2]
    log_offsets: Tensor,  # [G, 2, L, W]
    mask: Tensor,  # [G, L, W]
) -> tuple[Tensor, Tensor]:
    """Attend with weights exp(t)·σσ, where t is the score without its order terms."""
    _, _, scores = _scores(query, key, query_terms, key_terms, theta, log_offsets, mask)
    return _weighted_sum(scores, None, query_terms, key_terms, log_offsets, value)


def _stable_tile(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_terms: Tensor,
    key_terms: Tensor,
    theta: Tensor,
    log_offsets: Tensor,
    mask: Tensor,
) -> tuple[Tensor, Tensor]:
    """Attend as `_fast_tile` does, but subtract each row's maximum first: slower, and safe for any scores."""
    _, _, scores = _scores(query, key, query_terms, key_terms, theta, log_offsets, mask)
    return _weighted_sum(scores, scores.amax(-1, keepdim=True), query_terms, key_terms, log_offsets, value)


def _weighted_sum(
    scores: Tensor, shift: Tensor | None, query_terms: Tensor, key_terms: Tensor, log_offsets: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    x, y = _order_odds(query_terms, key_terms)
    right_of, below = (log_offsets[:, axis][:, None] > 0 for axis in (0, 1))
    # Eq. 3 as a factor of the weight; the reference is `pair_scores`.
    factor = torch.where(right_of, 1.0, x) * torch.where(below, 1.0, y) / ((1 + x) * (1 + y))
    # In the values' precision, so that the total is of the weights that are used.
    weights = (torch.exp(scores if shift is None else scores - shift) * factor).to(value.dtype)
    total = weights.sum(-1, keepdim=True, dtype=scores.dtype)
    values = torch.matmul(weights, value)
    log_total = torch.log(total) if shift is None else torch.log(total) + shift
    return (values / total).to(value.dtype), log_total.squeeze(-1)


def _scores(
    query: Tensor, key: Tensor, query_terms: Tensor, key_terms: Tensor, theta: Tensor, log_offsets: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute deviations from the ideal distance along x and y, times θ, and scores without order terms."""
    deviation_x, deviation_y = (
        log_offsets[:, axis].abs()[:, None] * theta[:, axis, None, None]
        - (query_terms[:, 2 + axis, :, :, None] + key_terms[:, 2 + axis, :, None, :])
        for axis in (0, 1)
    )
    dots = torch.matmul(query, key.transpose(-1, -2)).to(theta.dtype)
    return deviation_x, deviation_y, dots + mask[:, None] - deviation_x * deviation_x - deviation_y * deviation_y


def _order_odds(query_terms: Tensor, key_terms: Tensor) -> tuple[Tensor, Tensor]:
    """Compute e^{−z} for both axes: [G, H, L, W]."""
    x, y = (query_terms[:, axis, :, :, None] * key_terms[:, axis, :, None, :] for axis in (0, 1))
    return x, y


def _tile_backward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    query_terms: Tensor,
    key_terms: Tensor,
    theta: Tensor,
    log_offsets: Tensor,
    mask: Tensor,
    values: Tensor,
    log_normalizer: Tensor,
    d_values: Tensor,
    d_log_normalizer: Tensor,
    overlap: int,
) -> tuple[Tensor, ...]:
    deviation_x, deviation_y, scores = _scores(query, key, query_terms, key_terms, theta, log_offsets, mask)
    x, y = _order_odds(query_terms, key_terms)
    inverse = 1 / ((1 + x) * (1 + y))
    right_of, below = (log_offsets[:, axis][:, None] > 0 for axis in (0, 1))
    factor = torch.where(right_of, 1.0, x) * torch.where(below, 1.0, y) * inverse
    weights = torch.exp(scores - log_normalizer[..., None]) * factor
    d_weights = torch.matmul(d_values, value.transpose(-1, -2)).to(theta.dtype)
    mean = (d_values.to(theta.dtype) * values.to(theta.dtype)).sum(-1) - d_log_normalizer
    d_scores = weights * (d_weights - mean[..., None])
    # d ln σ(±z) / dz = o − σ(z), and d (−deviation²) / d mean = 2·deviation.
    parts = (
        d_scores * (right_of.to(x.dtype) - inverse * (1 + y)),
        d_scores * (below.to(x.dtype) - inverse * (1 + x)),
        d_scores * deviation_x * 2,
        d_scores * deviation_y * 2,
    )
    d_query_terms = torch.stack([part.sum(-1) for part in parts], dim=-1).transpose(1, 2)  # [G, L, H, 4]
    d_key_terms = torch.stack([part.sum(-2) for part in parts], dim=-1)  # [G, H, W, 4]
    distance_x, distance_y = log_offsets[:, 0].abs()[:, None], log_offsets[:, 1].abs()[:, None]
    d_theta = -torch.stack([(parts[2] * distance_x).sum((0, 2, 3)), (parts[3] * distance_y).sum((0, 2, 3))], dim=1)
    low, low_weights = d_scores.to(query.dtype), weights.to(query.dtype)
    d_query = torch.matmul(low, key).transpose(1, 2)  # [G, L, H, D]
    d_key = torch.matmul(low.transpose(-1, -2), query)
    d_value = torch.matmul(low_weights.transpose(-1, -2), d_values)
    block = query.shape[2]
    folded = (_fold(tensor, block, overlap) for tensor in (d_key, d_value, d_key_terms))
    return d_query, d_query_terms, *folded, d_theta


def _fold(windows: Tensor, block: int, overlap: int) -> Tensor:
    """Sum overlapping windows [G, H, W, …]: [(G + overlap)·L, H, …]."""
    count, heads, width = windows.shape[:3]
    padded = F.pad(
        windows.float() if windows.dtype == torch.bfloat16 else windows, (0, 0, 0, (1 + overlap) * block - width)
    )
    blocks = padded.unflatten(2, (1 + overlap, block)).permute(0, 2, 3, 1, 4)  # [G, 1 + overlap, L, H, …]
    shifted = [F.pad(blocks[:, i], (0, 0, 0, 0, 0, 0, i, overlap - i)) for i in range(1 + overlap)]
    total = shifted[0]
    for piece in shifted[1:]:
        total = total + piece
    return total.reshape((count + overlap) * block, heads, -1)


def _plain_attention(
    query: Tensor, key: Tensor, value: Tensor, relative: Tensor | None, band: Band, compiled: bool
) -> tuple[Tensor, Tensor]:
    """Attend as ETC does: with clipped relative positions, or none."""
    tile: Callable[..., Any] = (
        compile_tile(_plain_tile) if compiled and not torch.compiler.is_compiling() else _plain_tile
    )
    blocks = band.blocks(query).transpose(1, 2)
    keys, values = (band.windows(band.with_margin(tokens)).transpose(2, 3) for tokens in (key, value))
    distances = _clipped_distances(band, relative)
    # The gradient of `split` is one concatenation; that of a slice is a full tensor of zeros.
    sizes = [part.stop - part.start for part in _parts(blocks)]
    pieces = zip(*(tensor.split(sizes) for tensor in (blocks, keys, values, band.mask)), strict=True)
    results = [tile(*piece, relative, distances) for piece in pieces]
    attended, log_normalizer = (torch.cat(parts) for parts in zip(*results, strict=True))
    return _to_tokens(attended, query), _to_tokens(log_normalizer, query)


def _clipped_distances(band: Band, relative: Tensor | None) -> Tensor | None:
    """Compute the clipped relative position of each pair in a window: [L, W]."""
    if relative is None:
        return None
    max_distance = relative.shape[-1] // 2
    device = band.mask.device
    distance = (
        torch.arange(band.window, device=device)[None] - torch.arange(band.block, device=device)[:, None] - band.radius
    )
    return distance.clamp(-max_distance, max_distance) + max_distance


def _plain_tile(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor, relative: Tensor | None, distances: Tensor | None
) -> tuple[Tensor, Tensor]:
    scores = torch.matmul(query, key.transpose(-1, -2)).to(mask.dtype) + mask[:, None]
    if relative is not None and distances is not None:
        by_distance = torch.matmul(query, relative.to(query.dtype)).to(mask.dtype)  # [G, H, L, 2R + 1]
        scores = scores + by_distance.gather(-1, distances.expand(*scores.shape[:2], -1, -1))
    log_normalizer = scores.logsumexp(-1)
    weights = torch.exp(scores - log_normalizer[..., None])
    return torch.matmul(weights.to(value.dtype), value), log_normalizer


def _parts(query: Tensor) -> list[slice]:
    """Divide blocks into tiles of similar size; into one tile inside a compiled graph."""
    total, heads = query.shape[:2]
    count = 1 if torch.compiler.is_compiling() else -(-total // max(1, TILE // heads))
    return [slice(total * i // count, total * (i + 1) // count) for i in range(count)]


#: Recompute scores instead of storing them: memory bandwidth is the bottleneck.
_INLINE: dict[str, Any] = {"realize_reads_threshold": 100, "realize_opcount_threshold": 1000}


@cache
def compile_tile(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a tile function; a second size triggers one more compilation, for dynamic sizes."""
    return torch.compile(function, options=_INLINE)


@cache
def compile_dynamic(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function for dynamic lengths."""
    return torch.compile(function, dynamic=True)
