"""All backends compute the same attention as the dense reference, for every shape that needs special handling."""

import pytest
import torch
from torch import Tensor

from attention_cases import attend, make_case
from formnet.modeling.attention import choose_backend, make_geometry
from formnet.modeling.attention.inputs import AttentionInputs
from formnet.modeling.formnet import local_attention

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
@pytest.mark.parametrize("backend", ["tiled", "export"])
def test_local_attention_backend_equals_dense(batch: int, length: int, radius: int, rich: bool, backend: str) -> None:
    case = make_case(batch, length)
    with torch.no_grad():
        dense, fast = attend("dense", case, radius, rich), attend(backend, case, radius, rich)
    valid = case.valid[..., None]
    assert torch.allclose(fast.log_normalizer * valid, dense.log_normalizer * valid, atol=1e-5)
    assert torch.allclose(fast.values * valid[..., None], dense.values * valid[..., None], atol=1e-5)


@pytest.mark.parametrize(("batch", "length", "radius"), [(3, 130, 84), (1, 65, 10)])
@pytest.mark.parametrize("rich", [True, False])
def test_local_attention_tiled_gradients_equal_dense(batch: int, length: int, radius: int, rich: bool) -> None:
    case = make_case(batch, length)
    valid = case.valid[..., None]
    leaves = [*case.tensors, *(case.affine.parameters() if rich else [])]
    gradients = []
    for backend in ("dense", "tiled"):
        torch.manual_seed(1)
        values, log_normalizer = attend(backend, case, radius, rich)
        loss = (values * torch.randn(values.shape) * valid[..., None]).sum()
        loss = loss + (log_normalizer * torch.randn(log_normalizer.shape) * valid).sum()
        gradients.append(torch.autograd.grad(loss, leaves))
    for dense, fast in zip(*gradients, strict=True):
        assert torch.allclose(dense, fast, atol=1e-4, rtol=1e-4)


def test_local_attention_bfloat16_is_close_to_float32() -> None:
    exact, rounded = make_case(2, 150), make_case(2, 150, dtype=torch.bfloat16)
    dense, fast = attend("dense", exact, 84), attend("tiled", rounded, 84)
    assert fast.values.dtype == torch.bfloat16
    assert (dense.values - fast.values.float())[exact.valid].abs().max() < 0.1


def test_local_attention_padding_changes_nothing() -> None:
    query, key, value = make_case(1, 90).tensors
    _, centers, _, affine = make_case(1, 90)
    valid = torch.ones(1, 90, dtype=torch.bool)
    padded_valid = torch.nn.functional.pad(valid, (0, 40))

    def pad(x: Tensor) -> Tensor:
        return torch.nn.functional.pad(x, (*(0,) * (2 * (x.dim() - 2)), 0, 40), value=7.0)

    expected = local_attention(
        AttentionInputs(query, key, value, affine(query, key)), make_geometry(valid, centers, 84, "tiled", rich=True)
    )
    q, k, v, c = (pad(x) for x in (query, key, value, centers))
    geometry = make_geometry(padded_valid, c, 84, "tiled", rich=True)
    padded = local_attention(AttentionInputs(q, k, v, affine(q, k)), geometry)
    assert torch.allclose(expected.values, padded.values[:, :90], atol=1e-6)


def test_choose_backend_auto_depends_on_batch() -> None:
    query = torch.zeros(1, 10, 2, 8)
    assert choose_backend("auto", query) == "tiled"
    assert choose_backend("auto", query.clone().requires_grad_()) == "compiled"
    assert choose_backend("dense", query) == "dense"
    assert choose_backend("auto", torch.zeros(1, 9000, 1, 1)) == "compiled"
    with pytest.raises(ValueError, match="not among auto, dense"):
        choose_backend("magic", query)
