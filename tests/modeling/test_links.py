import math

import pytest
import torch

from formnet.modeling import FormNetConfig
from formnet.modeling.links import LinkHead, Pairs, link_loss, make_link_head

HIDDEN, SIZE, LABELS, FEATURES = 6, 4, 3, 5


def make_inputs(hidden_size: int | None = HIDDEN) -> tuple[LinkHead, torch.Tensor, Pairs]:
    torch.manual_seed(0)
    head = LinkHead(hidden_size, SIZE, LABELS, FEATURES)
    pairs: Pairs = {
        "parts": torch.tensor([[1, 3, 4], [2, -1, -1]]),
        "owners": torch.tensor([[[0, 2], [0, -1], [2, 0]], [[0, 1], [-1, -1], [-1, -1]]]),
        "part_labels": torch.tensor([[1, 2, 1], [1, -1, -1]]),
        "owner_labels": torch.tensor([[[0, 2], [0, -1], [2, 0]], [[0, 1], [-1, -1], [-1, -1]]]),
        "pair_features": torch.randn(2, 3, 2, FEATURES),
    }
    return head, torch.randn(2, 5, HIDDEN), pairs


@pytest.mark.parametrize("hidden_size", [HIDDEN, None])
def test_link_head_equals_a_perceptron_over_concatenated_inputs(hidden_size: int | None) -> None:
    head, states, pairs = make_inputs(hidden_size)
    scores = head(head.project(states), pairs)
    one_hot = torch.eye(LABELS)
    inputs = [one_hot[2], one_hot[1], pairs["pair_features"][0, 0, 1]]
    weights = [head.owner_label.weight.T, head.part_label.weight.T, head.geometry.weight]
    if head.states is not None:
        inputs += [states[0, 2], states[0, 1]]
        weights += head.states.weight.chunk(2)
    first = torch.nn.functional.gelu(torch.cat(weights, dim=1) @ torch.cat(inputs) + head.geometry.bias)
    expected = head.output(torch.nn.functional.gelu(head.hidden(first)))
    assert torch.allclose(scores[0, 0, 1], expected[0], atol=1e-6)
    assert scores.shape == (2, 3, 3)
    assert scores[0, 1, 1] == -math.inf
    assert torch.isfinite(scores[..., -1]).all()


def test_make_link_head_follows_the_configuration() -> None:
    task = {"link_labels": {"": [["name", "price"], ["name", "count"]]}}
    config = FormNetConfig.of_size("tiny", link_size=8, task=task)
    head = make_link_head(config)
    assert head is not None
    assert head.states is not None
    assert head.owner_label.num_embeddings == 3
    without_states = make_link_head(FormNetConfig.of_size("tiny", link_size=8, link_states=False, task=task))
    assert without_states is not None
    assert without_states.states is None
    assert make_link_head(FormNetConfig.of_size("tiny", task=task)) is None


def test_link_loss_ignores_padding_and_sums_over_parts() -> None:
    head, states, pairs = make_inputs()
    scores = head(head.project(states), pairs)
    targets = torch.tensor([[1, 2, -100], [0, -100, -100]])
    log = scores.log_softmax(dim=-1)
    assert torch.allclose(link_loss(scores, targets), -(log[0, 0, 1] + log[0, 1, 2] + log[1, 0, 0]), atol=1e-6)
    assert link_loss(scores, torch.full_like(targets, -100)) == 0


def test_link_loss_has_finite_gradients_with_padding() -> None:
    head, states, pairs = make_inputs()
    link_loss(head(head.project(states), pairs), torch.tensor([[1, 0, 2], [1, -1, -1]])).backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in head.parameters())


def test_link_loss_of_documents_without_parts_is_zero_and_has_gradients() -> None:
    head, states, _ = make_inputs()
    nothing = torch.zeros(2, 0, dtype=torch.long)
    pairs: Pairs = {
        "parts": nothing,
        "owners": nothing[:, :, None],
        "part_labels": nothing,
        "owner_labels": nothing[:, :, None],
        "pair_features": torch.zeros(2, 0, 1, FEATURES),
    }
    loss = link_loss(head(head.project(states), pairs), nothing)
    assert loss == 0
    loss.backward()
