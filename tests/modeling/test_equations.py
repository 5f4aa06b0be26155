"""The paper's equations, compared to plain float64 loops over single pairs; gradients by autograd of the same loops."""

import math

import pytest
import torch
from torch import Tensor

from formnet.modeling import FormNetConfig
from formnet.modeling.attention.band import make_band
from formnet.modeling.attention.inputs import AttentionGeometry, AttentionInputs
from formnet.modeling.formnet import (
    GraphLayer,
    RichAffine,
    add_global_token,
    dense_attention,
    global_attention,
    local_attention,
    rich_scores,
)

B, N, H, D = 2, 7, 2, 3


@pytest.fixture(autouse=True)
def double_precision() -> object:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def make_inputs() -> tuple[Tensor, Tensor, Tensor, Tensor, RichAffine]:
    query, key, value = (torch.randn(B, N, H, D, requires_grad=True) for _ in range(3))
    centers = torch.rand(B, N, 2) * 1000
    centers[:, 3, 1] = centers[:, 4, 1]  # a tie in order
    affine = RichAffine(H, D)
    for parameter in affine.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return query, key, value, centers, affine


def order_and_distance(
    b: int, h: int, i: int, j: int, query: Tensor, key: Tensor, centers: Tensor, affine: RichAffine
) -> Tensor:
    """Compute s⁽ᵒ⁾ + s⁽ᵈ⁾ of one pair and head along both axes, one scalar at a time."""
    total = torch.zeros(())
    for axis in (0, 1):
        center_i, center_j = float(centers[b, i, axis]), float(centers[b, j, axis])
        o = 1.0 if center_i < center_j else 0.0
        d = math.log(1 + abs(center_i - center_j))
        logit = mean = torch.zeros(())
        for n in range(D):
            logit = logit + affine.query_weight[h, n, axis] * query[b, i, h, n]
            logit = logit + affine.key_weight[h, n, axis] * key[b, j, h, n]
            mean = mean + affine.query_weight[h, n, 2 + axis] * query[b, i, h, n]
            mean = mean + affine.key_weight[h, n, 2 + axis] * key[b, j, h, n]
        p = 1 / (1 + torch.exp(-(logit + affine.bias[h, axis])))  # Eq. 1
        mu = mean + affine.bias[h, 2 + axis]  # Eq. 2
        total = total + o * torch.log(p) + (1 - o) * torch.log(1 - p)  # Eq. 3
        total = total - affine.theta[h, axis] ** 2 * (d - mu) ** 2 / 2  # Eq. 4
        total = total + math.log(2)  # our addition: an undecided order is neutral
    return total


def assert_equal_with_gradients(ours: Tensor, expected: Tensor, leaves: list[Tensor]) -> None:
    assert torch.allclose(ours, expected, rtol=0, atol=1e-8)
    direction = torch.randn_like(ours)
    our_gradients = torch.autograd.grad(ours, leaves, direction, retain_graph=True)
    expected_gradients = torch.autograd.grad(expected, leaves, direction)
    for our_gradient, gradient in zip(our_gradients, expected_gradients, strict=True):
        assert torch.allclose(our_gradient, gradient, rtol=0, atol=1e-8)


def test_rich_scores_equal_equations_1_to_4() -> None:
    query, key, _, centers, affine = make_inputs()
    ours = rich_scores(affine(query, key), centers)
    expected = torch.stack(
        [
            order_and_distance(b, h, i, j, query, key, centers, affine)
            for b in range(B)
            for h in range(H)
            for i in range(N)
            for j in range(N)
        ]
    ).view(B, H, N, N)
    assert_equal_with_gradients(ours, expected, [query, key, *affine.parameters()])


def attend_in_loops(
    query: Tensor, key: Tensor, value: Tensor, centers: Tensor, affine: RichAffine, radius: int
) -> Tensor:
    """Compute the softmax over j of q_i·k_j + s⁽ᵒ⁾ + s⁽ᵈ⁾ within the radius, in loops."""
    rows = []
    for b in range(B):
        for i in range(N):
            for h in range(H):
                near = [j for j in range(N) if abs(i - j) <= radius]
                scores = torch.stack(
                    [
                        (query[b, i, h] * key[b, j, h]).sum()
                        + order_and_distance(b, h, i, j, query, key, centers, affine)
                        for j in near
                    ]
                )
                weights = torch.exp(scores) / torch.exp(scores).sum()
                rows.append(sum(weights[n] * value[b, j, h] for n, j in enumerate(near)))
    return torch.stack(rows).view(B, N, H, D)


@pytest.mark.parametrize("backend", ["dense", "tiled", "export"])
def test_local_attention_equals_softmax_in_loops(backend: str) -> None:
    query, key, value, centers, affine = make_inputs()
    valid = torch.ones(B, N, dtype=torch.bool)
    inputs = AttentionInputs(query, key, value, affine(query, key))
    geometry = AttentionGeometry(valid, centers, 3, backend, make_band(valid, centers, 3, block=4))
    expected = attend_in_loops(query, key, value, centers, affine, 3)
    ours = local_attention(inputs, geometry).values
    assert_equal_with_gradients(ours, expected, [query, key, value, *affine.parameters()])


def test_global_token_is_one_more_key_and_attends_to_all() -> None:
    query, key, value, centers, affine = make_inputs()
    global_key, global_value, global_query = (torch.randn(B, H, D, requires_grad=True) for _ in range(3))
    bias = torch.randn(H, requires_grad=True)
    valid = torch.ones(B, N, dtype=torch.bool)
    terms = affine(query, key)
    geometry = AttentionGeometry(valid, centers, N, "dense")
    local = dense_attention(AttentionInputs(query, key, value, terms), geometry)
    ours = add_global_token(*local, query, global_key, global_value, bias)
    scores = torch.einsum("bihd,bjhd->bhij", query, key) + rich_scores(terms, centers)
    to_global_token = torch.einsum("bihd,bhd->bhi", query, global_key) + bias[:, None]
    scores = torch.cat([scores, to_global_token[..., None]], dim=-1)
    values = torch.cat([value, global_value[:, None]], dim=1)
    expected = torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), values)
    leaves = [query, key, value, global_key, global_value, bias, *affine.parameters()]
    assert_equal_with_gradients(ours, expected, leaves)
    keys = torch.cat([global_key[:, None], key], dim=1)
    values = torch.cat([global_value[:, None], value], dim=1)
    attended = global_attention(global_query, keys, values, valid)
    weights = torch.einsum("bhd,bnhd->bhn", global_query, keys).softmax(-1)
    assert_equal_with_gradients(attended, torch.einsum("bhn,bnhd->bhd", weights, values), [global_query, keys, values])


def test_graph_layer_equals_message_passing_per_edge() -> None:
    """m_ij = MLP([h_i; h_j; e_ij]), one-head attention over neighbors, residual, LayerNorm, edge by edge."""
    config = FormNetConfig.of_size("tiny", hidden_dropout_prob=0.0)
    width = config.hidden_size
    layer = GraphLayer(config)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    states = torch.randn(1, 5, width, requires_grad=True)
    edges = torch.randn(1, 5, 8, config.num_edge_features, requires_grad=True)
    table = torch.tensor([[1, 2], [0, -1], [0, 3], [2, -1], [-1, -1]])
    table = torch.nn.functional.pad(table, (0, 6), value=-1)[None]
    ours = layer(states, table.clamp(min=0), table >= 0, edges, "tiled")
    first = torch.cat([layer.receiver.weight, layer.sender.weight, layer.edge.weight], dim=1)
    rows = []
    for i in range(5):
        neighbors = [(slot, j) for slot, j in enumerate(table[0, i].tolist()) if j >= 0]
        total = torch.zeros(width)
        if neighbors:
            messages = []
            for slot, j in neighbors:
                joined = torch.cat([states[0, i], states[0, j], edges[0, i, slot]])
                hidden = layer.activation(first @ joined + layer.receiver.bias)
                messages.append(layer.message.weight @ hidden + layer.message.bias)
            query = layer.attention.weight @ states[0, i]
            scores = torch.stack([(query * message).sum() / math.sqrt(width) for message in messages])
            weights = torch.exp(scores) / torch.exp(scores).sum()
            total = sum(w * m for w, m in zip(weights, messages, strict=True))
        rows.append(layer.norm(states[0, i] + total))
    assert_equal_with_gradients(ours, torch.stack(rows)[None], [states, edges, *layer.parameters()])
