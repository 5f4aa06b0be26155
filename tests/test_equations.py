"""Every equation of the paper, computed in plain float64 loops, with gradients by autograd of the same loops."""

import math

import pytest
import torch
from torch import Tensor

from formnet.modeling import FormNetConfig
from formnet.modeling.attention_inputs import Layout, Tokens
from formnet.modeling.band import make_band
from formnet.modeling.local_attention import dense_attention, global_attention, local_attention, with_global
from formnet.modeling.rich_attention import RichAffine, rich_scores
from formnet.modeling.super_tokens import GraphLayer

B, N, H, D = 2, 7, 2, 3


@pytest.fixture(autouse=True)
def double_precision() -> object:
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def inputs() -> tuple[Tensor, Tensor, Tensor, Tensor, RichAffine]:
    query, key, value = (torch.randn(B, N, H, D, requires_grad=True) for _ in range(3))
    places = torch.rand(B, N, 2) * 1000
    places[:, 3, 1] = places[:, 4, 1]  # a tie in order
    affine = RichAffine(H, D)
    for parameter in affine.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return query, key, value, places, affine


def order_and_distance(
    b: int, h: int, i: int, j: int, query: Tensor, key: Tensor, places: Tensor, affine: RichAffine
) -> Tensor:
    """s⁽ᵒ⁾ + s⁽ᵈ⁾ of one pair and head, along both axes, number by number."""
    total = torch.zeros(())
    for axis in (0, 1):
        place_i, place_j = float(places[b, i, axis]), float(places[b, j, axis])
        o = 1.0 if place_i < place_j else 0.0
        d = math.log(1 + abs(place_i - place_j))
        logit = mean = torch.zeros(())
        for n in range(D):
            logit = logit + affine.row[h, n, axis] * query[b, i, h, n] + affine.column[h, n, axis] * key[b, j, h, n]
            mean = mean + affine.row[h, n, 2 + axis] * query[b, i, h, n]
            mean = mean + affine.column[h, n, 2 + axis] * key[b, j, h, n]
        p = 1 / (1 + torch.exp(-(logit + affine.bias[h, axis])))  # Eq. 1
        mu = mean + affine.bias[h, 2 + axis]  # Eq. 2
        total = total + o * torch.log(p) + (1 - o) * torch.log(1 - p)  # Eq. 3
        total = total - affine.sharpness[h, axis] ** 2 * (d - mu) ** 2 / 2  # Eq. 4
        total = total + math.log(2)  # ours: an undecided order weighs nothing
    return total


def same_with_gradients(ours: Tensor, theirs: Tensor, leaves: list[Tensor]) -> None:
    assert torch.allclose(ours, theirs, rtol=0, atol=1e-8)
    direction = torch.randn_like(ours)
    one = torch.autograd.grad(ours, leaves, direction, retain_graph=True)
    two = torch.autograd.grad(theirs, leaves, direction)
    for a, b in zip(one, two, strict=True):
        assert torch.allclose(a, b, rtol=0, atol=1e-8)


def test_order_and_distance_scores() -> None:
    query, key, _, places, affine = inputs()
    ours = rich_scores(affine(query, key), places)
    theirs = torch.stack(
        [
            order_and_distance(b, h, i, j, query, key, places, affine)
            for b in range(B)
            for h in range(H)
            for i in range(N)
            for j in range(N)
        ]
    ).view(B, H, N, N)
    same_with_gradients(ours, theirs, [query, key, *affine.parameters()])


def attended(query: Tensor, key: Tensor, value: Tensor, places: Tensor, affine: RichAffine, radius: int) -> Tensor:
    """softmax over j of q_i·k_j + s⁽ᵒ⁾ + s⁽ᵈ⁾, within the radius, in loops."""
    rows = []
    for b in range(B):
        for i in range(N):
            for h in range(H):
                near = [j for j in range(N) if abs(i - j) <= radius]
                scores = torch.stack(
                    [
                        (query[b, i, h] * key[b, j, h]).sum()
                        + order_and_distance(b, h, i, j, query, key, places, affine)
                        for j in near
                    ]
                )
                weights = torch.exp(scores) / torch.exp(scores).sum()
                rows.append(sum(weights[n] * value[b, j, h] for n, j in enumerate(near)))
    return torch.stack(rows).view(B, N, H, D)


@pytest.mark.parametrize("backend", ["dense", "blocked", "flex", "gathered"])
def test_rich_attention(backend: str) -> None:
    query, key, value, places, affine = inputs()
    valid = torch.ones(B, N, dtype=torch.bool)
    tokens = Tokens(query, key, value, affine(query, key))
    layout = Layout(valid, places, 3, make_band(valid, places, 3, block=4))
    theirs = attended(query, key, value, places, affine, 3)
    if backend == "flex":  # which has no backward on CPUs
        with torch.no_grad():
            ours = local_attention(tokens, layout, backend).values
        assert torch.allclose(ours, theirs, rtol=0, atol=1e-8)
        return
    ours = local_attention(tokens, layout, backend).values
    same_with_gradients(ours, theirs, [query, key, value, *affine.parameters()])


def test_the_global_token_is_one_more_key_and_sees_all() -> None:
    query, key, value, places, affine = inputs()
    global_key, global_value, global_query = (torch.randn(B, H, D, requires_grad=True) for _ in range(3))
    bias = torch.randn(H, requires_grad=True)
    valid = torch.ones(B, N, dtype=torch.bool)
    terms = affine(query, key)
    local = dense_attention(Tokens(query, key, value, terms), Layout(valid, places, N, None))
    ours = with_global(*local, query, global_key, global_value, bias)
    scores = torch.einsum("bihd,bjhd->bhij", query, key) + rich_scores(terms, places)
    to_global = torch.einsum("bihd,bhd->bhi", query, global_key) + bias[:, None]
    scores = torch.cat([scores, to_global[..., None]], dim=-1)
    values = torch.cat([value, global_value[:, None]], dim=1)
    theirs = torch.einsum("bhij,bjhd->bihd", scores.softmax(-1), values)
    leaves = [query, key, value, global_key, global_value, bias, *affine.parameters()]
    same_with_gradients(ours, theirs, leaves)
    keys = torch.cat([global_key[:, None], key], dim=1)
    values = torch.cat([global_value[:, None], value], dim=1)
    seen = global_attention(global_query, keys, values, valid)
    weights = torch.einsum("bhd,bnhd->bhn", global_query, keys).softmax(-1)
    same_with_gradients(seen, torch.einsum("bhn,bnhd->bhd", weights, values), [global_query, keys, values])


def test_message_passing() -> None:
    """m_ij = MLP([h_i; h_j; e_ij]), one-head attention over neighbors, skip, LayerNorm; each edge on its own."""
    config = FormNetConfig.of_size("tiny", hidden_dropout_prob=0.0)
    width = config.hidden_size
    layer = GraphLayer(config)
    for parameter in layer.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    states = torch.randn(1, 5, width, requires_grad=True)
    edges = torch.randn(1, 5, 8, config.edge_features, requires_grad=True)
    table = torch.tensor([[1, 2], [0, -1], [0, 3], [2, -1], [-1, -1]])
    table = torch.nn.functional.pad(table, (0, 6), value=-1)[None]
    ours = layer(states, table.clamp(min=0), table >= 0, edges)
    first = torch.cat([layer.receiver.weight, layer.sender.weight, layer.edge.weight], dim=1)
    rows = []
    for i in range(5):
        near = [(slot, j) for slot, j in enumerate(table[0, i].tolist()) if j >= 0]
        total = torch.zeros(width)
        if near:
            messages = []
            for slot, j in near:
                joined = torch.cat([states[0, i], states[0, j], edges[0, i, slot]])
                hidden = layer.activation(first @ joined + layer.receiver.bias)
                messages.append(layer.message.weight @ hidden + layer.message.bias)
            asked = layer.attention.weight @ states[0, i]
            scores = torch.stack([(asked * message).sum() / math.sqrt(width) for message in messages])
            weights = torch.exp(scores) / torch.exp(scores).sum()
            total = sum(w * m for w, m in zip(weights, messages, strict=True))
        rows.append(layer.norm(states[0, i] + total))
    same_with_gradients(ours, torch.stack(rows)[None], [states, edges, *layer.parameters()])
