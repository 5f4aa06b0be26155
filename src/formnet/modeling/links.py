"""The link head: which entity owns another, scored from the states of both and their relative position.

Shapes: B documents, W words, L entities that may be parts, C candidate owners per part, F features per pair, P the size
of the head.
"""

from typing import TypedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812


class StructureTargets(TypedDict):
    """What the heads for structure are trained to predict; words and parts without a target are negative."""

    keys: Tensor  # [B, W] 1 for words of captions, 0 for other words of entities
    parts: Tensor  # [B, L] first words
    owners: Tensor  # [B, L, C] first words
    pair_features: Tensor  # [B, L, C, F]
    owner: Tensor  # [B, L] index of the right owner, or C for none


class LinkHead(nn.Module):
    """A perceptron over owner, part and geometry, whose first layer is a sum of one term for each.

    The terms of owner and part are computed once per word, so that the cost of a pair does not depend on the hidden
    size of the encoder.
    """

    def __init__(self, hidden_size: int, size: int, pair_features: int) -> None:
        super().__init__()
        self.size = size
        self.owner = nn.Linear(hidden_size, size)
        self.part = nn.Linear(hidden_size, size, bias=False)
        self.geometry = nn.Linear(pair_features, size, bias=False)
        self.no_owner = nn.Parameter(torch.zeros(size))
        self.hidden = nn.Linear(size, size)
        self.output = nn.Linear(size, 1)

    def project(self, states: Tensor) -> Tensor:
        """Compute the terms of each word as an owner and as a part: [B, W, d] to [B, W, 2P]."""
        return torch.cat([self.owner(states), self.part(states)], dim=-1)

    def forward(self, terms: Tensor, parts: Tensor, owners: Tensor, features: Tensor) -> Tensor:
        """Score the owners of each part, and last that it has none: [B, L, C + 1].

        Takes the terms of words [B, W, 2P], the first words of parts [B, L] and of owners [B, L, C], both padded with
        −1, and the features of pairs [B, L, C, F].
        """
        as_owner, as_part = terms.split(self.size, dim=-1)
        part = _gather(as_part, parts)  # [B, L, P]
        owner = _gather(as_owner, owners.flatten(1)).view(*owners.shape, self.size) + self.geometry(
            features
        )  # [B, L, C, P]
        no_owner = self.no_owner.expand_as(part)[:, :, None]
        pairs = F.gelu(torch.cat([owner, no_owner], dim=2) + part[:, :, None])
        scores: Tensor = self.output(F.gelu(self.hidden(pairs)))[..., 0]
        return scores.masked_fill(F.pad(owners < 0, (0, 1)), -torch.inf)


def _gather(terms: Tensor, words: Tensor) -> Tensor:
    """Select the terms of words: [B, W, P] and [B, L] to [B, L, P]."""
    return terms.gather(1, words.clamp(min=0)[..., None].expand(-1, -1, terms.shape[-1]))


def link_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Sum the cross-entropy of the owners; targets [B, L] below 0 are ignored."""
    flat = targets.flatten()
    return F.cross_entropy(scores.flatten(0, 1)[flat >= 0].float(), flat[flat >= 0], reduction="sum")
