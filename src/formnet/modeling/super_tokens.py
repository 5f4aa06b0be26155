"""Super-tokens (Section 3.3): each word's state after messages from its neighbors on the page.

W words, K places for neighbors, d the width.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from transformers.activations import ACT2FN

from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.dropout import Dropout
from formnet.modeling.local_attention import WORTH_COMPILING, choose_backend
from formnet.modeling.tiles import fused


class NodeInput(nn.Linear):
    """What a super-token starts from: its word and the word's box; at first, its word (see `_init_weights`)."""


class SuperTokens(nn.Module):
    """Node inputs, then layers of message passing along the page graph."""

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__()
        self.node = NodeInput(config.hidden_size + config.node_features, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.layers = nn.ModuleList(GraphLayer(config) for _ in range(config.num_graph_layers))

    def forward(self, words: Tensor, node_features: Tensor, neighbors: Tensor, edge_features: Tensor) -> Tensor:
        """Give states [B, W, d] of words embedded as [B, W, d]; `neighbors` [B, W, K] is −1 where there is none."""
        states = self.norm(self.node(torch.cat([words, node_features.to(words.dtype)], dim=-1)))
        edges = steady(edge_features).to(words.dtype)
        there = neighbors >= 0
        batch, count, _ = neighbors.shape
        # Numbered through the batch, so that a gather is one lookup of rows.
        rows = neighbors.clamp(min=0) + torch.arange(batch, device=neighbors.device)[:, None, None] * count
        for layer in self.layers:
            states = layer(states, rows, there, edges)
        return states


class GraphLayer(nn.Module):
    """A message of two layers on [h_i; h_j; e_ij], one-head attention over neighbors, a skip, and LayerNorm.

    The products are split so that the wide ones run once a word, not once an edge: the first layer's matrix by its
    three inputs, and the second layer's is taken out of the weighted sum over neighbors.
    """

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.receiver = nn.Linear(width, width)  # h_i
        self.sender = nn.Linear(width, width, bias=False)  # h_j
        self.edge = nn.Linear(config.edge_features, width, bias=False)  # e_ij
        self.activation, self.config = ACT2FN[config.hidden_act], config
        self.message = nn.Linear(width, width)
        self.attention = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, states: Tensor, rows: Tensor, there: Tensor, edges: Tensor) -> Tensor:
        """Pass messages once: [B, W, d] to [B, W, d]."""
        sent = F.embedding(rows, self.sender(states).flatten(0, 1))  # [B, W, K, d]
        # m_ij = V·hidden + c; its score is (A h_i)·m_ij, so Vᵀ is applied to the word's side of it.
        asked = torch.matmul(self.attention(states), self.message.weight.to(states.dtype))  # [B, W, d]
        gather = gathered_messages
        if choose_backend(self.config.attention_backend, states, WORTH_COMPILING // 2) == "compiled":  # in words
            gather = fused(gathered_messages)
        gathered = gather(self.receiver(states), sent, self.edge(edges), asked, there, self.activation)
        messages = self.message(gathered) * there.any(-1, keepdim=True)
        return self.norm(states + self.dropout(messages))


def gathered_messages(
    received: Tensor, sent: Tensor, edge: Tensor, asked: Tensor, there: Tensor, activation: Callable[[Tensor], Tensor]
) -> Tensor:
    """Weigh the hidden layers of a word's messages by attention and add them up: [B, W, d]."""
    hidden = activation(received[:, :, None] + sent + edge)  # [B, W, K, d]
    scores = (asked[:, :, None] * hidden).sum(-1) / math.sqrt(asked.shape[-1])
    weights = scores.masked_fill(~there, -math.inf).softmax(-1)
    weights = torch.where(there, weights, 0.0)  # a word alone hears nothing
    return (weights[..., None] * hidden).sum(2)


def steady(edge_features: Tensor) -> Tensor:
    """Bring all features to a like scale: steps are hundredths of a page, and aspect ratios run over decades.

    Steps, the first eight, keep their sign and take the logarithm of their size in thousandths of the page.
    """
    steps, ratios = edge_features[..., :-3], edge_features[..., -3:]
    return torch.cat([torch.sign(steps) * torch.log1p(1000 * steps.abs()) / 3, torch.log1p(ratios)], dim=-1)
