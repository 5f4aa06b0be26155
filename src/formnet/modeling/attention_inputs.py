"""What every way of attention is given: what tokens bring, and where they are."""

from typing import NamedTuple

from torch import Tensor

from formnet.modeling.band import Band, make_band
from formnet.modeling.rich_attention import RichTerms

#: Ways that lay tokens out in tiles beforehand.
TILED = ("blocked", "compiled")


class Tokens(NamedTuple):
    """What tokens bring to one layer's attention; queries come scaled."""

    query: Tensor  # [B, N, H, D]
    key: Tensor  # [B, N, H, D]
    value: Tensor  # [B, N, H, D]
    terms: RichTerms | None = None  # for Rich Attention
    relative: Tensor | None = None  # [H, D, 2R + 1] for ETC's clipped relative positions


class Layout(NamedTuple):
    """Where a batch's tokens are: worked out once, used by every layer."""

    valid: Tensor  # [B, N] not padding
    places: Tensor  # [B, N, 2] centers
    radius: int
    band: Band | None  # only where tiles need it


def make_layout(valid: Tensor, places: Tensor, radius: int, backend: str, *, rich: bool) -> Layout:
    """Lay out a batch for the way of attention that was chosen."""
    band = make_band(valid, places if rich else None, radius) if backend in TILED else None
    return Layout(valid, places, radius, band)
