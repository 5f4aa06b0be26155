"""How unlikely the right BIOES path is among all legal ones: the loss that knows what decoding knows.

Tags are O, then B, I, E, S of each type. A path is closed (after O, E or S) or open in one type (after B or I), so the
sums over all paths take one pass forwards and one backwards. B documents, W words, K types, T = 1 + 4K tags.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

NEVER = -1e30  # where −∞ would make a difference of two of them no number


class Roles(NamedTuple):
    """Scores by what a tag does to a path."""

    outside: Tensor  # [B, W]
    begin: Tensor  # [B, W, K]
    inside: Tensor
    end: Tensor
    single: Tensor


def path_loss(scores: Tensor, tags: Tensor) -> Tensor:
    """Give each document's −log P(its path): [B] of scores [B, W, T] and legal tags [B, W].

    Words tagged −100 are not asked: they are outside whatever entities there are, at no cost.
    """
    asked = tags >= 0
    # Sums over thousands of words run into thousands themselves, of which float32 would round off what is asked for.
    masked = torch.where(asked[..., None], scores.double(), NEVER)
    masked = torch.cat([torch.where(asked[..., None], masked[..., :1], 0.0), masked[..., 1:]], dim=-1)
    right = masked.gather(-1, tags.clamp(min=0)[..., None])[..., 0].sum(-1)
    total: Tensor = LogTotal.apply(masked)
    return total - right


class LogTotal(torch.autograd.Function):
    """The logarithm of the sum over all legal paths; its gradient is every tag's probability."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        """Sum: [B, W, T] to [B]."""
        roles = take_apart(scores)
        forward, forward_open = _forwards(roles)
        if ctx.needs_input_grad[0]:
            backward, backward_open = _backwards(roles)
            closed, opened = forward[:, :-1, None], forward_open[:, :-1]
            then, then_open = backward[:, 1:, None], backward_open[:, 1:]
            by_role = [
                closed + roles.begin + then_open,
                opened + roles.inside + then_open,
                opened + roles.end + then,
                closed + roles.single + then,
            ]
            outside = closed + roles.outside[..., None] + then
            logs = torch.cat([outside, torch.stack(by_role, dim=-1).flatten(2)], dim=-1)
            ctx.save_for_backward(torch.exp(logs - forward[:, -1, None, None]))
        return forward[:, -1]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """Give probabilities their share."""
        (probabilities,) = ctx.saved_tensors
        return gradient[:, None, None] * probabilities


def take_apart(scores: Tensor) -> Roles:
    """Split [B, W, T]."""
    by_role = scores[..., 1:].unflatten(-1, (-1, 4))
    return Roles(scores[..., 0], *(part.contiguous() for part in by_role.unbind(-1)))


def _ends(roles: Roles) -> tuple[Tensor, Tensor, Tensor]:
    """Give the scores of staying closed [B, W], and those before the first word or after the last: [B], [B, K]."""
    stay = torch.logaddexp(roles.outside, roles.single.logsumexp(-1))
    documents, _, types = roles.begin.shape
    return stay, stay.new_zeros(documents), stay.new_full((documents, types), NEVER)


def _forwards(roles: Roles) -> tuple[Tensor, Tensor]:
    """Sum over all beginnings that are closed before word w [B, W + 1], or open [B, W + 1, K]."""
    stay, closed, opened = _ends(roles)
    all_closed, all_opened = [closed], [opened]
    for w in range(stay.shape[1]):
        ended = (opened + roles.end[:, w]).logsumexp(-1)
        opened = torch.logaddexp(closed[:, None] + roles.begin[:, w], opened + roles.inside[:, w])
        closed = torch.logaddexp(closed + stay[:, w], ended)
        all_closed.append(closed)
        all_opened.append(opened)
    return torch.stack(all_closed, 1), torch.stack(all_opened, 1)


def _backwards(roles: Roles) -> tuple[Tensor, Tensor]:
    """Sum over all ways to go on from a closed state before word w, or from an open one."""
    stay, closed, opened = _ends(roles)
    all_closed, all_opened = [closed], [opened]
    for w in range(stay.shape[1] - 1, -1, -1):
        began = (roles.begin[:, w] + opened).logsumexp(-1)
        opened = torch.logaddexp(roles.end[:, w] + closed[:, None], roles.inside[:, w] + opened)
        closed = torch.logaddexp(closed + stay[:, w], began)
        all_closed.append(closed)
        all_opened.append(opened)
    return torch.stack(all_closed[::-1], 1), torch.stack(all_opened[::-1], 1)
