"""Exact sums over all legal BIOES tag paths: one forward–backward pass for the training loss and for decoding.

Under BIOES a path alternates between two kinds of state: closed (at the start, after O, E or S) and open in one entity
type (after B or I). A step therefore costs as many operations as there are tags, not their square.

Shapes: B documents, W words, K entity types, T = 1 + 4K tags (O, then B, I, E, S of each type).
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

Scores = NDArray[np.float64]
#: Log-probability of what is illegal.
NEVER = -np.inf
#: Log-odds, in training, against a word belonging to an entity of a type that was not annotated in its document. Less
#: than log 2, so that a type which half of the documents annotate is still learned for the others.
UNKNOWN_PENALTY = 0.5


class TagScores(NamedTuple):
    """Scores by the role of a tag."""

    outside: Scores  # [B, W]
    begin: Scores  # [B, W, K]
    inside: Scores  # [B, W, K]
    end: Scores  # [B, W, K]
    single: Scores  # [B, W, K]


@dataclass(frozen=True)
class Lattice:
    """All legal paths over a batch of documents, with log-sums over their prefixes and suffixes."""

    scores: TagScores
    forward: Scores  # [B, W + 1] paths that are closed before word w
    forward_open: Scores  # [B, W + 1, K] paths that are open in a type before word w
    backward: Scores  # [B, W + 1] continuations from a closed state before word w
    backward_open: Scores  # [B, W + 1, K] continuations from an open state before word w

    @property
    def log_total(self) -> Scores:
        """Log-sum over all legal paths: [B]."""
        return self.forward[:, -1]

    def marginals(self) -> Scores:
        """Compute the probability of every tag at every word: [B, W, T]."""
        outside, begin, inside, end, single = self.scores
        closed, opened = self.forward[:, :-1, None], self.forward_open[:, :-1]
        then_closed, then_open = self.backward[:, 1:, None], self.backward_open[:, 1:]
        by_role = [
            closed + begin + then_open,
            opened + inside + then_open,
            opened + end + then_closed,
            closed + single + then_closed,
        ]
        types = np.stack(by_role, axis=-1).reshape(*outside.shape, 4 * begin.shape[-1])
        log = np.concatenate([closed + outside[..., None] + then_closed, types], axis=-1)
        probabilities: Scores = np.exp(log - self.log_total[:, None, None])
        return probabilities


def split_by_role(scores: NDArray[np.floating], mask: NDArray[np.bool_]) -> TagScores:
    """Split scores [B, W, T] by role; words outside the mask [B, W] are tagged O at no cost."""
    scores = np.asarray(scores, np.float64)
    outside = np.where(mask, scores[:, :, 0], 0.0)
    by_role = scores[:, :, 1:].reshape(*mask.shape, (scores.shape[2] - 1) // 4, 4)
    by_role = np.where(mask[..., None, None], by_role, NEVER)
    return TagScores(outside, *(np.ascontiguousarray(by_role[..., role]) for role in range(4)))


def forward_backward(scores: NDArray[np.floating], mask: NDArray[np.bool_]) -> Lattice:
    """Sum over all legal paths in both directions; `scores` [B, W, T], `mask` [B, W] is False for padding."""
    outside, begin, inside, end, single = by_role = split_by_role(scores, mask)
    batch, words, types = begin.shape
    forward, backward = np.zeros((batch, words + 1)), np.zeros((batch, words + 1))
    forward_open, backward_open = (np.full((batch, words + 1, types), NEVER) for _ in range(2))
    with np.errstate(divide="ignore"):
        stay_closed = np.logaddexp(outside, log_sum_exp(single))  # [B, W]
        for w in range(words):
            closed, opened = forward[:, w], forward_open[:, w]
            forward_open[:, w + 1] = np.logaddexp(closed[:, None] + begin[:, w], opened + inside[:, w])
            forward[:, w + 1] = np.logaddexp(closed + stay_closed[:, w], log_sum_exp(opened + end[:, w]))
        for w in range(words - 1, -1, -1):
            closed, opened = backward[:, w + 1], backward_open[:, w + 1]
            backward[:, w] = np.logaddexp(closed + stay_closed[:, w], log_sum_exp(begin[:, w] + opened))
            backward_open[:, w] = np.logaddexp(end[:, w] + closed[:, None], inside[:, w] + opened)
    return Lattice(by_role, forward, forward_open, backward, backward_open)


def crf_loss(scores: Tensor, tags: Tensor, unknown_types: Tensor | None = None) -> Tensor:
    """Compute −log P(path) per document [B] from scores [B, W, T] and legal tags [B, W].

    Words tagged −100 have no label: they are outside of all entities, at no cost. If entity types [B, K] are unknown,
    words tagged O may belong to entities of these types: the loss is that of all such paths together. Each word of such
    an entity costs `UNKNOWN_PENALTY`, or types that are rare in all documents would become another name for O.
    """
    mask = tags >= 0
    if unknown_types is not None:
        any_tag = torch.arange(scores.shape[-1], device=tags.device)
        allowed = any_tag == tags[..., None]  # [B, W, T]
        unknown_tags = F.pad(unknown_types.repeat_interleave(4, dim=-1), (1, 0))  # [B, T], without O
        allowed |= (tags == 0)[..., None] & unknown_tags[:, None]
        restricted = (scores - UNKNOWN_PENALTY * unknown_tags[:, None]).masked_fill(~allowed, NEVER)
        total: Tensor = _LogTotal.apply(scores, mask) - _LogTotal.apply(restricted, mask)
        return total
    # Sums over thousands of words need double precision.
    gold = scores.double().gather(-1, tags.clamp(min=0)[..., None])[..., 0]
    log_total: Tensor = _LogTotal.apply(scores, mask)
    return log_total - torch.where(mask, gold, 0.0).sum(-1)


def soft_crf_loss(scores: Tensor, probabilities: Tensor, mask: Tensor) -> Tensor:
    """Compute the expected −log P(path) per document [B] under the tag probabilities [B, W, T] of another model.

    The mask [B, W] is False for padding.
    """
    expected = (scores.double() * probabilities).sum(-1)  # [B, W]
    log_total: Tensor = _LogTotal.apply(scores, mask)
    return log_total - torch.where(mask, expected, 0.0).sum(-1)


class _LogTotal(torch.autograd.Function):
    """Log-sum over all legal paths, in double precision; its gradient is the marginal probability of every tag."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, mask: Tensor) -> Tensor:
        lattice = forward_backward(scores.detach().double().cpu().numpy(), mask.cpu().numpy())
        if ctx.needs_input_grad[0]:
            marginals = torch.from_numpy(lattice.marginals()).to(scores.device)
            ctx.save_for_backward(torch.where(mask[..., None], marginals, 0.0))
            ctx.dtype = scores.dtype
        return torch.from_numpy(lattice.log_total.copy()).to(scores.device)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (marginals,) = ctx.saved_tensors
        return (gradient[:, None, None] * marginals).to(ctx.dtype), None


def log_sum_exp(values: Scores) -> Scores:
    """Compute the log of the sum of exponentials over the last axis; of none, −∞."""
    if values.shape[-1] == 0:
        return np.full(values.shape[:-1], NEVER)
    top = values.max(axis=-1)
    finite = np.where(np.isfinite(top), top, 0.0)
    total: Scores = np.log(np.exp(values - finite[..., None]).sum(axis=-1)) + finite
    return total
