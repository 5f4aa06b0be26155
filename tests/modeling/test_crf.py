from itertools import pairwise, product

import numpy as np
import pytest
import torch

from formnet.document.tags import TagScheme
from formnet.modeling.crf import UNKNOWN_PENALTY, crf_loss, forward_backward, soft_crf_loss

SCHEME = TagScheme(("a", "b"))
#: An "a" of two words, O and a "b" of one word; and a shorter document.
TAGS = torch.tensor([[1, 3, 0, 8], [5, 7, -100, -100]])


def test_crf_loss_equals_forward_backward_with_gradient() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 4, len(SCHEME), dtype=torch.float64, requires_grad=True)
    lattice = forward_backward(scores.detach().numpy(), (TAGS >= 0).numpy())
    losses = crf_loss(scores, TAGS)
    for b, length in enumerate((4, 2)):
        gold = sum(float(scores.detach()[b, w, TAGS[b, w]]) for w in range(length))
        assert float(losses.detach()[b]) == pytest.approx(lattice.log_total[b] - gold, abs=1e-9)
    (gradient,) = torch.autograd.grad(losses.sum(), scores)
    expected = lattice.marginals()
    expected[1, 2:] = 0
    for b, length in enumerate((4, 2)):
        for w in range(length):
            expected[b, w, TAGS[b, w]] -= 1
    assert np.allclose(gradient.numpy(), expected, atol=1e-9)
    assert torch.autograd.gradcheck(lambda s: crf_loss(s, TAGS), (scores,))


def test_crf_loss_long_document_gradient_is_exact_in_float32() -> None:
    torch.manual_seed(0)
    scores = 8 * torch.randn(1, 5_000, len(SCHEME))
    tags = torch.zeros(1, 5_000, dtype=torch.long)
    gradients = []
    for leaf in (scores.clone(), scores.double()):
        (gradient,) = torch.autograd.grad(crf_loss(leaf.requires_grad_(), tags).sum(), leaf)
        gradients.append(gradient.double())
    assert torch.allclose(*gradients, atol=1e-6)


def test_crf_loss_unlabeled_document_is_zero_and_large_scores_stay_finite() -> None:
    scores = torch.full((1, 3, len(SCHEME)), 80.0, requires_grad=True)
    loss = crf_loss(scores, torch.full((1, 3), -100)).sum()
    loss.backward()
    assert float(loss.detach()) == 0
    assert not scores.grad.any()
    assert torch.isfinite(crf_loss(scores * 100, torch.tensor([[0, 0, 0]]))).all()


def test_crf_loss_document_without_words_is_zero() -> None:
    scores = torch.zeros(2, 0, len(SCHEME), requires_grad=True)
    losses = crf_loss(scores, torch.zeros(2, 0, dtype=torch.long))
    assert losses.tolist() == [0.0, 0.0]
    losses.sum().backward()  # type: ignore[no-untyped-call]


def test_soft_crf_loss_certain_teacher_equals_crf_loss() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 4, len(SCHEME), dtype=torch.float64)
    mask = TAGS >= 0
    certain = torch.nn.functional.one_hot(TAGS.clamp(min=0), len(SCHEME)).double()
    certain[~mask] = -100.0
    assert torch.allclose(soft_crf_loss(scores, certain, mask), crf_loss(scores, TAGS))


def test_soft_crf_loss_has_no_gradient_at_the_teacher() -> None:
    torch.manual_seed(0)
    mask = TAGS >= 0
    teacher = torch.randn(2, 4, len(SCHEME), dtype=torch.float64)
    probabilities = torch.from_numpy(forward_backward(teacher.numpy(), mask.numpy()).marginals())
    for scores, is_teacher in ((teacher, True), (-teacher, False)):
        leaf = scores.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(soft_crf_loss(leaf, probabilities, mask).sum(), leaf)
        assert bool(gradient[mask].abs().max() < 1e-9) == is_teacher


def test_crf_loss_unknown_types_sums_over_paths_with_these_types() -> None:
    torch.manual_seed(0)
    scores = torch.randn(1, 4, len(SCHEME), dtype=torch.float64, requires_grad=True)
    tags = torch.tensor([[0, 0, 4, 0]])  # the third word is an "a"; the others may belong to a "b"
    unknown = torch.tensor([[False, True]])
    allowed = [[0, 5, 6, 7, 8], [0, 5, 6, 7, 8], [4], [0, 5, 6, 7, 8]]
    paths = [
        path
        for path in product(*allowed)
        if SCHEME.starts[path[0]] and SCHEME.ends[path[-1]] and all(SCHEME.transitions[a, b] for a, b in pairwise(path))
    ]
    log_weights = torch.stack(
        [sum((scores[0, w, tag] for w, tag in enumerate(path)), torch.zeros(())) for path in paths]
    ) - UNKNOWN_PENALTY * torch.tensor([sum(tag > 4 for tag in path) for path in paths])
    lattice = forward_backward(scores.detach().numpy(), np.ones((1, 4), np.bool_))
    expected = float(lattice.log_total[0]) - torch.logsumexp(log_weights, 0)
    assert torch.allclose(crf_loss(scores, tags, unknown)[0], expected)
    assert torch.autograd.gradcheck(lambda s: crf_loss(s, tags, unknown), (scores,))


def test_crf_loss_no_unknown_types_equals_plain_loss() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 4, len(SCHEME), dtype=torch.float64)
    assert torch.allclose(crf_loss(scores, TAGS, torch.zeros(2, 2, dtype=torch.bool)), crf_loss(scores, TAGS))


def test_crf_loss_unknown_type_that_no_document_has_is_not_learned() -> None:
    scores = torch.zeros(1, 3, len(SCHEME), dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([scores], lr=1.0)
    for _ in range(200):
        optimizer.zero_grad()
        crf_loss(scores, torch.zeros(1, 3, dtype=torch.long), torch.tensor([[False, True]])).sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    marginals = forward_backward(scores.detach().numpy(), np.ones((1, 3), np.bool_)).marginals()
    assert (marginals[0, :, 0] > 0.9).all()
