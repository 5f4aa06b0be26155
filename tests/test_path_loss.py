import numpy as np
import pytest
import torch

from formnet.document.tags import TagScheme
from formnet.extraction.decoding import lattice, marginals
from formnet.modeling import FormNetConfig, FormNetForTokenClassification
from formnet.modeling.path_loss import path_loss

SCHEME = TagScheme(("a", "b"))
#: "a" of two words, nothing, "b" of one; and a shorter document.
TAGS = torch.tensor([[1, 3, 0, 8], [5, 7, -100, -100]])


def test_it_is_the_probability_that_decoding_gives_and_its_gradient() -> None:
    torch.manual_seed(0)
    scores = torch.randn(2, 4, len(SCHEME), dtype=torch.float64, requires_grad=True)
    sums = lattice(scores.detach().numpy(), np.array([4, 2]), SCHEME)
    losses = path_loss(scores, TAGS)
    for b, length in enumerate((4, 2)):
        right = sum(float(scores.detach()[b, w, TAGS[b, w]]) for w in range(length))
        assert float(losses.detach()[b]) == pytest.approx(sums.log_total[b] - right, abs=1e-9)
    (gradient,) = torch.autograd.grad(losses.sum(), scores)
    expected = marginals(sums)
    expected[1, 2:] = 0
    for b, length in enumerate((4, 2)):
        for w in range(length):
            expected[b, w, TAGS[b, w]] -= 1
    assert np.allclose(gradient.numpy(), expected, atol=1e-9)
    assert torch.autograd.gradcheck(lambda s: path_loss(s, TAGS), (scores,))


def test_long_documents_are_learnt_from_exactly() -> None:
    torch.manual_seed(0)
    scores = 8 * torch.randn(1, 5_000, len(SCHEME))
    tags = torch.zeros(1, 5_000, dtype=torch.long)
    gradients = []
    for exact in (scores.clone(), scores.double()):
        (gradient,) = torch.autograd.grad(path_loss(exact.requires_grad_(), tags).sum(), exact)
        gradients.append(gradient.double())
    assert torch.allclose(*gradients, atol=1e-6)


def test_documents_without_labels_cost_nothing_and_large_scores_stay_finite() -> None:
    scores = torch.full((1, 3, len(SCHEME)), 80.0, requires_grad=True)
    nothing = path_loss(scores, torch.full((1, 3), -100)).sum()
    nothing.backward()
    assert float(nothing.detach()) == 0
    assert not scores.grad.any()
    assert torch.isfinite(path_loss(scores * 100, torch.tensor([[0, 0, 0]]))).all()


def test_each_head_is_asked_for_its_own_paths() -> None:
    torch.manual_seed(0)
    config = FormNetConfig.of_size(
        "tiny", vocab_size=9, super_tokens=False, num_labels=14, attention_backend="blocked", loss_on_paths=True
    )
    config.heads = {"one": 9, "two": 5}
    model = FormNetForTokenClassification(config).eval()
    logits, labels = torch.randn(2, 4, 14), torch.tensor([[1, 3, 0, 8], [1, 3, 0, 4]])
    loss = model.loss_of_paths(logits, labels, torch.tensor([0, 1]), None)
    apart = path_loss(logits[:1, :, :9], labels[:1]) + path_loss(logits[1:, :, 9:], labels[1:])
    assert torch.allclose(loss, apart.sum() / 8)


def test_documents_without_words_have_one_path() -> None:
    scores = torch.zeros(2, 0, len(SCHEME), requires_grad=True)
    lost = path_loss(scores, torch.zeros(2, 0, dtype=torch.long))
    assert lost.tolist() == [0.0, 0.0]
    lost.sum().backward()  # type: ignore[no-untyped-call]
