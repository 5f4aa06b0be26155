"""The fast ways give the reference's numbers, for every shape that could trip them."""

import pytest
import torch
from torch import Tensor

from formnet.modeling import tiles
from formnet.modeling.attention_inputs import Tokens, make_layout
from formnet.modeling.band import make_band
from formnet.modeling.local_attention import Local, choose_backend, local_attention
from formnet.modeling.rich_attention import RichAffine


def case(
    batch: int, length: int, heads: int = 2, size: int = 8, dtype: torch.dtype = torch.float32, scale: float = 1.0
) -> tuple[list[Tensor], Tensor, Tensor, RichAffine]:
    torch.manual_seed(batch * 1000 + length)
    tensors = [(torch.randn(batch, length, heads, size) * scale).to(dtype).requires_grad_() for _ in range(3)]
    places = (torch.rand(batch, length, 2) * 1000).to(torch.promote_types(dtype, torch.float32))
    valid = torch.arange(length)[None] < torch.linspace(length, max(length // 3, 1), batch).long()[:, None]
    affine = RichAffine(heads, size)
    for parameter in affine.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return tensors, places, valid, affine


def attend(
    backend: str, data: tuple[list[Tensor], Tensor, Tensor, RichAffine], radius: int, rich: bool = True
) -> Local:
    (query, key, value), places, valid, affine = data
    layout = make_layout(valid, places, radius, backend, rich=rich)
    terms = affine(query, key) if rich else None
    relative = None if rich else torch.linspace(-1, 1, 2 * 8 * 25).view(2, 8, 25)
    return local_attention(Tokens(query, key, value, terms, relative), layout, backend)


SHAPES = [
    (1, 1, 84),
    (1, 63, 84),
    (1, 64, 84),
    (1, 65, 10),
    (3, 130, 84),
    (2, 200, 7),
    (4, 33, 200),  # the radius covers the document
    (1, 700, 84),
]


@pytest.mark.parametrize(("batch", "length", "radius"), SHAPES)
@pytest.mark.parametrize("rich", [True, False])
@pytest.mark.parametrize("backend", ["blocked", "flex", "gathered"])
def test_every_backend_is_the_dense_one(batch: int, length: int, radius: int, rich: bool, backend: str) -> None:
    if backend == "flex" and length > 200:
        pytest.skip("uncompiled FlexAttention writes out every pair")
    data = case(batch, length)
    with torch.no_grad():  # FlexAttention has no backward on CPUs
        dense, fast = attend("dense", data, radius, rich), attend(backend, data, radius, rich)
    valid = data[2][..., None]
    assert torch.allclose(fast.log_normalizer * valid, dense.log_normalizer * valid, atol=1e-5)
    assert torch.allclose(fast.values * valid[..., None], dense.values * valid[..., None], atol=1e-5)


@pytest.mark.parametrize(("batch", "length", "radius"), [(3, 130, 84), (1, 65, 10)])
@pytest.mark.parametrize("rich", [True, False])
def test_gradients_are_those_of_the_dense_one(batch: int, length: int, radius: int, rich: bool) -> None:
    data = case(batch, length)
    valid = data[2][..., None]
    leaves = [*data[0], *(data[3].parameters() if rich else [])]
    gradients = []
    for backend in ("dense", "blocked"):
        torch.manual_seed(1)
        values, log_normalizer = attend(backend, data, radius, rich)
        loss = (values * torch.randn(values.shape) * valid[..., None]).sum()
        loss = loss + (log_normalizer * torch.randn(log_normalizer.shape) * valid).sum()
        gradients.append(torch.autograd.grad(loss, leaves))
    for dense, fast in zip(*gradients, strict=True):
        assert torch.allclose(dense, fast, atol=1e-4, rtol=1e-4)


def test_compiled_tiles_are_the_plain_ones() -> None:
    """Whole tiles and a rest, forwards and backwards, in one compilation each."""
    data = case(2, 1100, heads=48)
    leaves = [*data[0], *data[3].parameters()]
    results = []
    for backend in ("blocked", "compiled"):
        values, log_normalizer = attend(backend, data, 84)
        gradients = torch.autograd.grad(values.square().sum() + log_normalizer.sum(), leaves)
        results.append([values, log_normalizer, *gradients])
    for plain, compiled in zip(*results, strict=True):
        assert torch.allclose(plain, compiled, atol=1e-3, rtol=1e-4)


def test_bfloat16_is_near() -> None:
    exact, rounded = case(2, 150), case(2, 150, dtype=torch.bfloat16)
    one, other = attend("dense", exact, 84), attend("blocked", rounded, 84)
    assert other.values.dtype == torch.bfloat16
    assert (one.values - other.values.float())[exact[2]].abs().max() < 0.1


@pytest.mark.parametrize("scale", [1.0, 12.0, 40.0])
def test_huge_scores_stay_finite_and_right(scale: float) -> None:
    """Where the quick shift would let weights vanish, the careful one takes over."""
    data = case(1, 150, scale=scale, dtype=torch.float64)
    with torch.no_grad():
        data[3].double().sharpness.fill_(3.0)
    dense, fast = attend("dense", data, 84), attend("blocked", data, 84)
    assert torch.isfinite(fast.values).all()
    assert torch.allclose(fast.values, dense.values, atol=1e-5)


def test_the_careful_tile_is_needed_and_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    data = case(1, 150, scale=40.0)
    taken = []
    careful = tiles._careful_tile
    monkeypatch.setattr(tiles, "_careful_tile", lambda *a: taken.append(1) or careful(*a))
    attend("blocked", data, 84)
    assert taken
    taken.clear()
    attend("blocked", case(1, 150), 84)
    assert not taken


def test_only_heads_that_need_care_are_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    data = case(2, 150)
    with torch.no_grad():
        for tokens in data[0][:2]:
            tokens[:, :, 1] *= 6
    taken = []
    careful = tiles._careful_tile
    monkeypatch.setattr(tiles, "_careful_tile", lambda *a: taken.append(a[0].shape[1]) or careful(*a))
    dense, fast = attend("dense", data, 84), attend("blocked", data, 84)
    assert set(taken) == {1}
    valid = data[2][..., None]
    assert torch.allclose(fast.values * valid[..., None], dense.values * valid[..., None], atol=1e-4)
    assert torch.allclose(fast.log_normalizer * valid, dense.log_normalizer * valid, rtol=1e-5)


def test_padding_changes_nothing() -> None:
    query, key, value = case(1, 90)[0]
    _, places, _, affine = case(1, 90)
    alone = torch.ones(1, 90, dtype=torch.bool)
    padded = torch.nn.functional.pad(alone, (0, 40))

    def pad(x: Tensor) -> Tensor:
        return torch.nn.functional.pad(x, (*(0,) * (2 * (x.dim() - 2)), 0, 40), value=7.0)

    one = local_attention(
        Tokens(query, key, value, affine(query, key)), make_layout(alone, places, 84, "blocked", rich=True), "blocked"
    )
    q, k, v, p = (pad(x) for x in (query, key, value, places))
    layout = make_layout(padded, p, 84, "blocked", rich=True)
    two = local_attention(Tokens(q, k, v, affine(q, k)), layout, "blocked")
    assert torch.allclose(one.values, two.values[:, :90], atol=1e-6)


def test_cost_is_linear_in_what_is_laid_out() -> None:
    for length in (1000, 16_000):
        band = make_band(torch.ones(1, length, dtype=torch.bool), torch.rand(1, length, 2), 84)
        assert band.mask.numel() <= (length + 64) * band.window


def test_backends_are_chosen_and_refused() -> None:
    query = torch.zeros(1, 10, 2, 8)
    assert choose_backend("auto", query) == "blocked"
    assert choose_backend("auto", query.clone().requires_grad_()) == "compiled"
    assert choose_backend("dense", query) == "dense"
    assert choose_backend("auto", torch.zeros(1, 9000, 1, 1)) == "compiled"
    with pytest.raises(ValueError, match="not among auto, dense"):
        choose_backend("magic", query)
