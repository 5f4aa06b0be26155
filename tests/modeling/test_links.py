import math

import torch

from formnet.modeling.links import LinkHead, link_loss

HIDDEN, SIZE, FEATURES = 6, 4, 3


def make_inputs() -> tuple[LinkHead, torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    head = LinkHead(HIDDEN, SIZE, FEATURES)
    states = torch.randn(2, 5, HIDDEN)
    parts = torch.tensor([[1, 3, 4], [2, -1, -1]])
    owners = torch.tensor([[[0, 2], [0, -1], [2, 0]], [[0, 1], [-1, -1], [-1, -1]]])
    return head, states, parts, owners, torch.randn(2, 3, 2, FEATURES)


def test_link_head_equals_a_perceptron_over_concatenated_inputs() -> None:
    head, states, parts, owners, features = make_inputs()
    scores = head(head.project(states), parts, owners, features)
    weight = torch.cat([head.owner.weight, head.part.weight, head.geometry.weight], dim=1)
    pair = torch.cat([states[0, 2], states[0, 1], features[0, 0, 1]])
    first = torch.nn.functional.gelu(weight @ pair + head.owner.bias)
    expected = head.output(torch.nn.functional.gelu(head.hidden(first)))
    assert torch.allclose(scores[0, 0, 1], expected[0], atol=1e-6)
    assert scores.shape == (2, 3, 3)
    assert scores[0, 1, 1] == -math.inf
    assert torch.isfinite(scores[..., -1]).all()


def test_link_loss_ignores_padding_and_sums_over_parts() -> None:
    head, states, parts, owners, features = make_inputs()
    scores = head(head.project(states), parts, owners, features)
    targets = torch.tensor([[1, 2, -100], [0, -100, -100]])
    log = scores.log_softmax(dim=-1)
    assert torch.allclose(link_loss(scores, targets), -(log[0, 0, 1] + log[0, 1, 2] + log[1, 0, 0]), atol=1e-6)
    assert link_loss(scores, torch.full_like(targets, -100)) == 0


def test_link_loss_has_finite_gradients_with_padding() -> None:
    head, states, parts, owners, features = make_inputs()
    link_loss(head(head.project(states), parts, owners, features), torch.tensor([[1, 0, 2], [1, -1, -1]])).backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in head.parameters())


def test_link_loss_of_documents_without_parts_is_zero_and_has_gradients() -> None:
    head, states, *_ = make_inputs()
    empty = torch.zeros(2, 0, dtype=torch.long), torch.zeros(2, 0, 1, dtype=torch.long), torch.zeros(2, 0, 1, FEATURES)
    loss = link_loss(head(head.project(states), *empty), torch.zeros(2, 0, dtype=torch.long))
    assert loss == 0
    loss.backward()
