"""The link head: which entity owns another, scored from the labels of both, their relative position, and their states.

Shapes: B documents, W words, L entities that may be parts, C candidate owners per part, F features per pair, P the size
of the head.
"""

from typing import TypedDict

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from formnet.modeling.configuration import FormNetConfig


class Pairs(TypedDict):
    """Parts and their candidate owners, padded with −1."""

    parts: Tensor  # [B, L] first words
    owners: Tensor  # [B, L, C] first words
    part_labels: Tensor  # [B, L]
    owner_labels: Tensor  # [B, L, C]
    pair_features: Tensor  # [B, L, C, F]


class StructureTargets(TypedDict):
    """What the heads for structure are trained to predict; words and parts without a target are negative."""

    keys: Tensor  # [B, W] 1 for words of captions, 0 for other words of entities
    pairs: Pairs
    owner: Tensor  # [B, L] index of the right owner, or C for none


class LinkHead(nn.Module):
    """A perceptron over owner, part and geometry, whose first layer is a sum of one term for each.

    Owner and part are described by their labels and, with a `hidden_size`, by the states of their first words. The
    terms of states are computed once per word, so that the cost of a pair does not depend on the size of the encoder.
    """

    def __init__(self, hidden_size: int | None, size: int, labels: int, pair_features: int) -> None:
        super().__init__()
        self.states = None if hidden_size is None else nn.Linear(hidden_size, 2 * size, bias=False)
        self.owner_label = nn.Embedding(labels, size)
        self.part_label = nn.Embedding(labels, size)
        self.geometry = nn.Linear(pair_features, size)
        self.no_owner = nn.Parameter(torch.zeros(size))
        self.hidden = nn.Linear(size, size)
        self.output = nn.Linear(size, 1)

    def project(self, states: Tensor) -> Tensor | None:
        """Compute the terms of each word as an owner and as a part: [B, W, d] to [B, W, 2P]; None without states."""
        return None if self.states is None else self.states(states)

    def forward(self, terms: Tensor | None, pairs: Pairs) -> Tensor:
        """Score the owners of each part, and last that it has none, given the terms of words: [B, L, C + 1]."""
        part = self.part_label(pairs["part_labels"].clamp(min=0))  # [B, L, P]
        owner = self.owner_label(pairs["owner_labels"].clamp(min=0)) + self.geometry(pairs["pair_features"])
        if terms is not None:
            as_owner, as_part = terms.chunk(2, dim=-1)
            part = part + _gather(as_part, pairs["parts"])
            owner = owner + _gather(as_owner, pairs["owners"].flatten(1)).view_as(owner)  # [B, L, C, P]
        no_owner = self.no_owner.expand_as(part)[:, :, None]
        hidden = F.gelu(self.hidden(F.gelu(torch.cat([owner, no_owner], dim=2) + part[:, :, None])))
        scores: Tensor = self.output(hidden)[..., 0]
        return scores.masked_fill(F.pad(pairs["owners"] < 0, (0, 1)), -torch.inf)


def make_link_head(config: FormNetConfig) -> LinkHead | None:
    """Return the link head of a configuration, if it has one."""
    if not config.link_size:
        return None
    hidden_size = config.hidden_size if config.link_states else None
    return LinkHead(hidden_size, config.link_size, len(config.get_task().linked_labels), config.pair_features)


def _gather(terms: Tensor, words: Tensor) -> Tensor:
    """Select the terms of words: [B, W, P] and [B, L] to [B, L, P]."""
    return terms.gather(1, words.clamp(min=0)[..., None].expand(-1, -1, terms.shape[-1]))


def link_loss(scores: Tensor, targets: Tensor) -> Tensor:
    """Sum the cross-entropy of the owners; targets [B, L] below 0 are ignored."""
    flat = targets.flatten()
    return F.cross_entropy(scores.flatten(0, 1)[flat >= 0].float(), flat[flat >= 0], reduction="sum")
