import pytest
import torch

from attention_cases import attend, make_case
from formnet.modeling.attention import tiled


@pytest.mark.slow
def test_tiled_attention_compiled_equals_plain() -> None:
    """Several full tiles and a partial one, forward and backward, with one compilation each."""
    case = make_case(2, 1100, heads=48)
    leaves = [*case.tensors, *case.affine.parameters()]
    results = []
    for backend in ("tiled", "compiled"):
        values, log_normalizer = attend(backend, case, 84)
        gradients = torch.autograd.grad(values.square().sum() + log_normalizer.sum(), leaves)
        results.append([values, log_normalizer, *gradients])
    for plain, compiled in zip(*results, strict=True):
        assert torch.allclose(plain, compiled, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("scale", [1.0, 12.0, 40.0])
def test_tiled_attention_large_scores_stay_finite_and_equal_dense(scale: float) -> None:
    """Heads whose totals overflow or underflow without subtracting the maximum are computed again."""
    case = make_case(1, 150, scale=scale, dtype=torch.float64)
    with torch.no_grad():
        case.affine.double().theta.fill_(3.0)
    dense, fast = attend("dense", case, 84), attend("tiled", case, 84)
    assert torch.isfinite(fast.values).all()
    assert torch.allclose(fast.values, dense.values, atol=1e-5)


def test_tiled_attention_stable_tile_runs_only_for_large_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case(1, 150, scale=40.0)
    calls = []
    stable_tile = tiled._stable_tile
    monkeypatch.setattr(tiled, "_stable_tile", lambda *a: calls.append(1) or stable_tile(*a))
    attend("tiled", case, 84)
    assert calls
    calls.clear()
    attend("tiled", make_case(1, 150), 84)
    assert not calls


def test_tiled_attention_stable_tile_computes_affected_heads_only(monkeypatch: pytest.MonkeyPatch) -> None:
    case = make_case(2, 150)
    with torch.no_grad():
        for tensor in case.tensors[:2]:
            tensor[:, :, 1] *= 6
    head_counts = []
    stable_tile = tiled._stable_tile
    monkeypatch.setattr(tiled, "_stable_tile", lambda *a: head_counts.append(a[0].shape[1]) or stable_tile(*a))
    dense, fast = attend("dense", case, 84), attend("tiled", case, 84)
    assert set(head_counts) == {1}
    valid = case.valid[..., None]
    assert torch.allclose(fast.values * valid[..., None], dense.values * valid[..., None], atol=1e-4)
    assert torch.allclose(fast.log_normalizer * valid, dense.log_normalizer * valid, rtol=1e-5)
