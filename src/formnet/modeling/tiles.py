"""Rich Attention in tiles small enough to stay in the cache, forwards and backwards.

Written in torch and fused by torch.compile. What makes it cheap:

- An order score ln σ(±z) with z = a_i + b_j needs no logarithm a pair: under the softmax's exponential it is the factor
  σ(±z) = 1/(1 + e) or e/(1 + e) with e = exp(−a_i)·exp(−b_j), a product.
- The geometry of the band is shared by all heads and layers.
- Exponentials are taken of scores as they are, without a pass to find each row's largest. Scores of trained networks
  allow it, nearly; heads in which a row's total shows that it was too much or too little are done again with it.
- Nothing of the size of the scores is kept for the backward pass: a tile is worked out again.

G blocks of a tile, H heads, L queries a block, W keys a window, D numbers a head.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from formnet.modeling.attention_inputs import Tokens
from formnet.modeling.band import Band

#: Heads times blocks in a tile: about six megabytes of scores, what two cores' caches hold.
TILE = 96
#: A row whose total is within e^±HEADROOM has neither overflowed nor lost precision.
HEADROOM = 60.0


def band_attention(tokens: Tokens, band: Band, *, compiled: bool) -> tuple[Tensor, Tensor]:
    """Attend within the band: values [B, N, H, D] and the logarithm of each row's normalizer [B, N, H]."""
    query, key, value, terms, relative = tokens
    if terms is None:
        return _attend_plain(query, key, value, relative, band, compiled)
    sharp = terms.sharpness / math.sqrt(2)  # so that the distance score is minus a square
    rows, columns = (fused(_halves) if compiled else _halves)(*terms[:4], sharp)
    if torch.compiler.is_compiling():  # the caller fuses the whole
        laid = lay_out(query, key, value, rows, columns, band)
        values, log_normalizer = _careful_tile(*_tiles(laid, band, sharp)(slice(None)))
        values, log_normalizer = _lay_back(values, query), _lay_back(log_normalizer, query)
    else:
        values, log_normalizer = _RichTiles.apply(query, key, value, rows, columns, sharp, band, compiled)
    # An undecided order (p = ½ on both axes) weighs nothing beside the global token, which has no order.
    return values, log_normalizer + 2 * math.log(2.0)


def _halves(
    order_row: Tensor, order_column: Tensor, mean_row: Tensor, mean_column: Tensor, sharp: Tensor
) -> tuple[Tensor, Tensor]:
    """Put what tiles need of queries and of keys together: [B, N, H, 4] each."""
    rows, columns = (order_row, mean_row), (order_column, mean_column)
    return tuple(torch.cat([order, mean * sharp], dim=-1) for order, mean in (rows, columns))  # type: ignore[return-value]


class Laid(NamedTuple):
    """Everything contiguous along tokens, so that a tile is read in one go."""

    query: Tensor  # [T, H, L, D]
    key: Tensor  # [H, tokens with a margin, D]
    value: Tensor
    rows: Tensor  # [T, 4, H, L] the query's halves: odds x, odds y, mean x, mean y
    columns: Tensor  # [4, H, tokens with a margin] the key's halves


def lay_out(
    query: Tensor, key: Tensor, value: Tensor, rows: Tensor, columns: Tensor, band: Band, *, compiled: bool = False
) -> Laid:
    """Lay tokens [B, N, H, …] out for the tiles; order logits become odds, e^{−a} and e^{−b}."""
    queries = _by_head(query, band, 0).unflatten(1, (-1, band.block)).transpose(0, 1)  # [T, H, L, D]
    keys, values = (_by_head(tokens, band, band.radius) for tokens in (key, value))
    odds = fused(_odds) if compiled else _odds
    return Laid(queries, keys, values, *odds(band.rows(rows), band.windowed(columns)))


def _odds(rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """Turn logits [T, L, H, 4] and [tokens with a margin, H, 4] into odds, and tokens to the end."""
    by_block, by_key = rows.permute(0, 3, 2, 1), columns.permute(2, 1, 0)
    is_order_block = (torch.arange(4, device=rows.device) < 2)[:, None, None]
    return (
        torch.where(is_order_block, torch.exp(-by_block), by_block).contiguous(),
        torch.where(is_order_block, torch.exp(-by_key), by_key).contiguous(),
    )


def _by_head(tokens: Tensor, band: Band, margin: int) -> Tensor:
    """Lay tokens [B, N, H, D] in one row a head, with a margin, in a single copy: [H, margin + tokens + margin, D]."""
    batch, length, heads, size = tokens.shape
    row = tokens.new_empty(heads, band.tokens + 2 * margin, size)
    row[:, :margin] = 0
    row[:, margin + batch * length :] = 0
    row[:, margin : margin + batch * length].unflatten(1, (batch, length)).copy_(tokens.permute(2, 0, 1, 3))
    return row


def _lay_back(blocks: Tensor, like: Tensor) -> Tensor:
    """Lay blocks [T, H, L, …] out as tokens again: [B, N, H, …]."""
    batch, length = like.shape[:2]
    return blocks.transpose(1, 2).flatten(0, 1)[: batch * length].unflatten(0, (batch, length))


def _of_heads(laid: Laid, heads: Tensor) -> Laid:
    """Take out some heads."""
    return Laid(
        laid.query[:, heads], laid.key[heads], laid.value[heads], laid.rows[:, :, heads], laid.columns[:, heads]
    )


def _tiles(laid: Laid, band: Band, sharp: Tensor) -> Callable[[slice], tuple[Tensor, ...]]:
    """Give a way to cut tiles: what `_careful_tile` takes, for some of the blocks."""
    assert band.steps is not None
    keys, values = (x.unfold(1, band.window, band.block).permute(1, 0, 3, 2) for x in (laid.key, laid.value))
    columns = laid.columns.unfold(2, band.window, band.block).permute(2, 0, 1, 3)  # [T, 4, H, W]
    steps, mask = band.steps, band.mask

    def cut(part: slice) -> tuple[Tensor, ...]:
        return (
            laid.query[part],
            keys[part],
            values[part],
            laid.rows[part],
            columns[part],
            sharp,
            steps[part],
            mask[part],
        )

    return cut


class _RichTiles(torch.autograd.Function):
    """Goes through the tiles one by one; keeps inputs and normalizers, and works scores out again on the way back."""

    @staticmethod
    def forward(
        ctx: Any,
        query: Tensor,  # [B, N, H, D]
        key: Tensor,
        value: Tensor,
        rows: Tensor,  # [B, N, H, 4]
        columns: Tensor,
        sharp: Tensor,  # [H, 2]
        band: Band,
        compiled: bool,
    ) -> tuple[Tensor, Tensor]:
        tile: Callable[..., Any] = _compiled(_quick_tile) if compiled else _quick_tile
        laid = lay_out(query, key, value, rows, columns, band, compiled=compiled)
        cut = _tiles(laid, band, sharp)
        values, log_normalizer = query.new_empty(laid.query.shape), sharp.new_empty(laid.query.shape[:3])
        for part in _parts(laid.query):
            values[part], log_normalizer[part] = tile(*cut(part))
        lost = ~(log_normalizer.abs() < HEADROOM).all(2).all(0)  # [H], also where a row is not a number
        if bool(lost.any()):
            heads = lost.nonzero().squeeze(1)
            tile = _compiled(_careful_tile) if compiled else _careful_tile
            cut = _tiles(_of_heads(laid, heads), band, sharp[heads])
            for part in _parts(laid.query[:, heads]):
                values[part, heads], log_normalizer[part, heads] = tile(*cut(part))
        ctx.save_for_backward(*laid, sharp, values, log_normalizer)
        ctx.band, ctx.compiled, ctx.shape = band, compiled, query.shape
        return _lay_back(values, query), _lay_back(log_normalizer, query)

    @staticmethod
    def backward(ctx: Any, d_values: Tensor, d_log_normalizer: Tensor) -> Any:
        query, key, value, rows, columns, sharp, values, log_normalizer = ctx.saved_tensors
        band: Band = ctx.band
        laid = Laid(query, key, value, rows, columns)
        cut = _tiles(laid, band, sharp)
        tile: Callable[..., Any] = _compiled(_rich_tile_backward) if ctx.compiled else _rich_tile_backward
        d_values, d_log = band.rows(d_values).transpose(1, 2), band.rows(d_log_normalizer).transpose(1, 2)
        total, heads, block, size = laid.query.shape
        d_query = laid.query.new_empty(total, block, heads, size)
        d_rows, d_sharp = sharp.new_empty(total, block, heads, 4), torch.zeros_like(sharp)
        overlap = _overlap(band)
        room = (total + overlap) * block
        d_key, d_value, d_columns = (sharp.new_zeros(room, heads, width) for width in (size, size, 4))
        for part in _parts(laid.query):
            results = tile(*cut(part), values[part], log_normalizer[part], d_values[part], d_log[part], overlap)
            d_query[part], d_rows[part] = results[0], results[1]
            span = slice(part.start * block, (part.stop + overlap) * block)
            for whole, share in zip((d_key, d_value, d_columns), results[2:5], strict=True):
                whole[span] += share
            d_sharp += results[5]
        batch, length = ctx.shape[:2]
        own = slice(band.radius, band.radius + batch * length)
        d_key, d_value, d_columns = (x[own].unflatten(0, (batch, length)) for x in (d_key, d_value, d_columns))
        d_query, d_rows = (x.flatten(0, 1)[: batch * length].unflatten(0, (batch, length)) for x in (d_query, d_rows))
        return d_query, d_key.to(d_query.dtype), d_value.to(d_query.dtype), d_rows, d_columns, d_sharp, None, None


def _overlap(band: Band) -> int:
    """Into how many blocks beyond its own a window reaches."""
    return -(-2 * band.radius // band.block)


def _quick_tile(
    query: Tensor,  # [G, H, L, D]
    key: Tensor,  # [G, H, W, D]
    value: Tensor,
    rows: Tensor,  # [G, 4, H, L]
    columns: Tensor,  # [G, 4, H, W]
    sharp: Tensor,  # [H, 2]
    steps: Tensor,  # [G, 2, L, W]
    mask: Tensor,  # [G, L, W]
) -> tuple[Tensor, Tensor]:
    """Weights are exp(t)·σσ, where t is the score without its order terms."""
    _, _, scores = _scores(query, key, rows, columns, sharp, steps, mask)
    return _weigh(scores, None, rows, columns, steps, value)


def _careful_tile(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    rows: Tensor,
    columns: Tensor,
    sharp: Tensor,
    steps: Tensor,
    mask: Tensor,
) -> tuple[Tensor, Tensor]:
    """The same, shifted by each row's largest score: one more pass, and no condition."""
    _, _, scores = _scores(query, key, rows, columns, sharp, steps, mask)
    return _weigh(scores, scores.amax(-1, keepdim=True), rows, columns, steps, value)


def _weigh(
    scores: Tensor, shift: Tensor | None, rows: Tensor, columns: Tensor, steps: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    x, y = _order_odds(rows, columns)
    after_x, after_y = (steps[:, axis][:, None] > 0 for axis in (0, 1))
    factor = torch.where(after_x, 1.0, x) * torch.where(after_y, 1.0, y) / ((1 + x) * (1 + y))
    # In the values' precision: written once, and what is summed is what is used.
    weights = (torch.exp(scores if shift is None else scores - shift) * factor).to(value.dtype)
    total = weights.sum(-1, keepdim=True, dtype=scores.dtype)
    values = torch.matmul(weights, value)
    log_total = torch.log(total) if shift is None else torch.log(total) + shift
    return (values / total).to(value.dtype), log_total.squeeze(-1)


def _scores(
    query: Tensor, key: Tensor, rows: Tensor, columns: Tensor, sharp: Tensor, steps: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """How far distances are from the ideal along x and y, in units of their spread, and the score but for order."""
    off_x, off_y = (
        steps[:, axis].abs()[:, None] * sharp[:, axis, None, None]
        - (rows[:, 2 + axis, :, :, None] + columns[:, 2 + axis, :, None, :])
        for axis in (0, 1)
    )
    dots = torch.matmul(query, key.transpose(-1, -2)).to(sharp.dtype)
    return off_x, off_y, dots + mask[:, None] - off_x * off_x - off_y * off_y


def _order_odds(rows: Tensor, columns: Tensor) -> tuple[Tensor, Tensor]:
    """e^{−z} for both axes: [G, H, L, W]."""
    x, y = (rows[:, axis, :, :, None] * columns[:, axis, :, None, :] for axis in (0, 1))
    return x, y


def _rich_tile_backward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    rows: Tensor,
    columns: Tensor,
    sharp: Tensor,
    steps: Tensor,
    mask: Tensor,
    values: Tensor,
    log_normalizer: Tensor,
    d_values: Tensor,
    d_log_normalizer: Tensor,
    overlap: int,
) -> tuple[Tensor, ...]:
    off_x, off_y, scores = _scores(query, key, rows, columns, sharp, steps, mask)
    x, y = _order_odds(rows, columns)
    inverse = 1 / ((1 + x) * (1 + y))
    after_x, after_y = (steps[:, axis][:, None] > 0 for axis in (0, 1))
    factor = torch.where(after_x, 1.0, x) * torch.where(after_y, 1.0, y) * inverse
    weights = torch.exp(scores - log_normalizer[..., None]) * factor
    d_weights = torch.matmul(d_values, value.transpose(-1, -2)).to(sharp.dtype)
    mean = (d_values.to(sharp.dtype) * values.to(sharp.dtype)).sum(-1) - d_log_normalizer
    d_scores = weights * (d_weights - mean[..., None])
    # d ln σ(±z) / dz = o − σ(z), and d (−off²) / d mean = 2·off.
    parts = (
        d_scores * (after_x.to(x.dtype) - inverse * (1 + y)),
        d_scores * (after_y.to(x.dtype) - inverse * (1 + x)),
        d_scores * off_x * 2,
        d_scores * off_y * 2,
    )
    d_rows = torch.stack([part.sum(-1) for part in parts], dim=-1).transpose(1, 2)  # [G, L, H, 4]
    d_columns = torch.stack([part.sum(-2) for part in parts], dim=-1)  # [G, H, W, 4]
    far_x, far_y = steps[:, 0].abs()[:, None], steps[:, 1].abs()[:, None]
    d_sharp = -torch.stack([(parts[2] * far_x).sum((0, 2, 3)), (parts[3] * far_y).sum((0, 2, 3))], dim=1)
    low, low_weights = d_scores.to(query.dtype), weights.to(query.dtype)
    d_query = torch.matmul(low, key).transpose(1, 2)  # [G, L, H, D]
    d_key = torch.matmul(low.transpose(-1, -2), query)
    d_value = torch.matmul(low_weights.transpose(-1, -2), d_values)
    block = query.shape[2]
    folded = (_fold(tensor, block, overlap) for tensor in (d_key, d_value, d_columns))
    return d_query, d_rows, *folded, d_sharp


def _fold(windows: Tensor, block: int, overlap: int) -> Tensor:
    """Add overlapping windows [G, H, W, …] up where they overlap: [(G + overlap)·L, H, …]."""
    count, heads, width = windows.shape[:3]
    padded = F.pad(
        windows.float() if windows.dtype == torch.bfloat16 else windows, (0, 0, 0, (1 + overlap) * block - width)
    )
    pieces = padded.unflatten(2, (1 + overlap, block)).permute(0, 2, 3, 1, 4)  # [G, 1 + overlap, L, H, …]
    shifted = [F.pad(pieces[:, i], (0, 0, 0, 0, 0, 0, i, overlap - i)) for i in range(1 + overlap)]
    total = shifted[0]
    for piece in shifted[1:]:
        total = total + piece
    return total.reshape((count + overlap) * block, heads, -1)


def _attend_plain(
    query: Tensor, key: Tensor, value: Tensor, relative: Tensor | None, band: Band, compiled: bool
) -> tuple[Tensor, Tensor]:
    """ETC's own attention: clipped relative positions, or none."""
    tile = _compiled(_plain_tile) if compiled and not torch.compiler.is_compiling() else _plain_tile
    blocks = band.rows(query).transpose(1, 2)
    keys, values = (band.windows(band.windowed(tokens)).transpose(2, 3) for tokens in (key, value))
    offsets = _offsets(band, relative)
    results = [
        tile(blocks[part], keys[part], values[part], relative, offsets, band.mask[part]) for part in _parts(blocks)
    ]
    attended, log_normalizer = (torch.cat(parts) for parts in zip(*results, strict=True))
    return _lay_back(attended, query), _lay_back(log_normalizer, query)


def _offsets(band: Band, relative: Tensor | None) -> Tensor | None:
    """Which relative position each place of a window is: [L, W]."""
    if relative is None:
        return None
    reach = relative.shape[-1] // 2
    device = band.mask.device
    apart = (
        torch.arange(band.window, device=device)[None] - torch.arange(band.block, device=device)[:, None] - band.radius
    )
    return apart.clamp(-reach, reach) + reach


def _plain_tile(
    query: Tensor, key: Tensor, value: Tensor, relative: Tensor | None, offsets: Tensor | None, mask: Tensor
) -> tuple[Tensor, Tensor]:
    scores = torch.matmul(query, key.transpose(-1, -2)).to(mask.dtype) + mask[:, None]
    if relative is not None and offsets is not None:
        by_offset = torch.matmul(query, relative.to(query.dtype)).to(mask.dtype)  # [G, H, L, 2R + 1]
        scores = scores + by_offset.gather(-1, offsets.expand(*scores.shape[:2], -1, -1))
    log_normalizer = scores.logsumexp(-1)
    weights = torch.exp(scores - log_normalizer[..., None])
    return torch.matmul(weights.to(value.dtype), value), log_normalizer


def _parts(query: Tensor) -> list[slice]:
    """Cut the blocks into tiles of like size; into one where the caller traces the graph."""
    total, heads = query.shape[:2]
    count = 1 if torch.compiler.is_compiling() else -(-total // max(1, TILE // heads))
    return [slice(total * i // count, total * (i + 1) // count) for i in range(count)]


#: Work scores out twice rather than write them down: memory is what costs.
_INLINE: dict[str, Any] = {"realize_reads_threshold": 100, "realize_opcount_threshold": 1000}


@cache
def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Fuse a tile; a tile of another size is compiled once more, then for every size."""
    return torch.compile(function, options=_INLINE)


@cache
def fused(function: Callable[..., Any]) -> Callable[..., Any]:
    """Fuse the small work around the tiles, for whatever lengths come."""
    return torch.compile(function, dynamic=True)
