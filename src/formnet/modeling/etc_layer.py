"""A layer of ETC (Ainslie et al., 2020) with one global token, which sees all tokens and is seen by all.

Queries, keys, values and the feed-forward part are shared by both kinds of token; the output projection and the
LayerNorm after attention are not.
"""

import math

import torch
from torch import Tensor, nn
from transformers.activations import ACT2FN
from transformers.modeling_layers import GradientCheckpointingLayer

from formnet.modeling.attention_inputs import Layout, Tokens
from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.dropout import Dropout
from formnet.modeling.local_attention import (
    choose_backend,
    dense_weights,
    global_attention,
    local_attention,
    with_global,
)
from formnet.modeling.rich_attention import RichAffine
from formnet.modeling.tiles import fused


class EtcLayer(GradientCheckpointingLayer):
    """Attention within a radius and to the global token, then a feed-forward part, each with LayerNorm after it."""

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__()
        width, heads = config.hidden_size, config.num_attention_heads
        assert config.intermediate_size is not None
        self.heads, self.config = heads, config
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.rich = RichAffine(heads, width // heads) if config.rich_attention else None
        # The global token has no place to be right or wrong about; this is what a head adds to its score instead.
        self.to_global = nn.Parameter(torch.empty(heads)) if config.rich_attention else None
        self.relative = None
        if not config.rich_attention:
            positions = 2 * config.max_relative_position + 1
            self.relative = nn.Parameter(torch.empty(heads, width // heads, positions))
        self.output, self.global_output = nn.Linear(width, width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.global_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.expand = nn.Linear(width, config.intermediate_size)
        self.contract = nn.Linear(config.intermediate_size, width)
        self.activation = ACT2FN[config.hidden_act]
        self.feed_forward_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, states: Tensor, layout: Layout) -> Tensor:
        """Take and give [B, 1 + N, d], the global token first."""
        attended = self.attend(states, layout)  # [B, 1 + N, d]
        tokens = self.norm(states[:, 1:] + self.dropout(self.output(attended[:, 1:])))
        first = self.global_norm(states[:, :1] + self.dropout(self.global_output(attended[:, :1])))
        states = torch.cat([first, tokens], dim=1)
        fed = self.contract(self.activation(self.expand(states)))
        return self.feed_forward_norm(states + self.dropout(fed))

    def attend(self, states: Tensor, layout: Layout) -> Tensor:
        """Gather values from the neighborhood and the global token: [B, 1 + N, d]."""
        query, key, value, tokens = self._project(states)
        backend = choose_backend(self.config.attention_backend, query)
        local = local_attention(tokens, layout, backend)
        merge = fused(with_global) if backend == "compiled" else with_global
        look = fused(global_attention) if backend == "compiled" else global_attention
        seen = merge(*local, query[:, 1:], key[:, 0], value[:, 0], self.to_global)
        first = look(query[:, 0], key, value, layout.valid)
        return torch.cat([first[:, None], seen], dim=1).flatten(2)

    def weights(self, states: Tensor, layout: Layout) -> Tensor:
        """Give the weights among tokens, for people to look at: [B, H, N, N]."""
        return dense_weights(self._project(states)[3], layout)[0]

    def _project(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor, Tokens]:
        """Give scaled queries, keys and values [B, 1 + N, H, D], and those of the tokens with what attention needs."""
        query, key, value = (
            part(states).unflatten(-1, (self.heads, -1)) for part in (self.query, self.key, self.value)
        )
        terms = None if self.rich is None else self.rich(query[:, 1:], key[:, 1:])
        query = query / math.sqrt(query.shape[-1])
        relative = None if self.relative is None else self.relative.to(query.dtype)
        return query, key, value, Tokens(query[:, 1:], key[:, 1:], value[:, 1:], terms, relative)
