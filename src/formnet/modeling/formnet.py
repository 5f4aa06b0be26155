"""FormNet (Lee et al., ACL 2022): Rich Attention, the ETC layer, the graph layer, the model and its heads.

The file follows the paper: Section 3.2 (Rich Attention) with Equations 1–4, Section 3.1 (ETC), Section 3.3
(super-tokens by graph convolution), then the model and its two heads. It is written for reading:
`formnet.modeling.attention` holds fast implementations of `dense_attention`, which are tested to be equal to it.

Shapes: B documents, N tokens, W words, K neighbors per word, H attention heads, D values per head, d hidden size,
T tags, V vocabulary size, C document types. Axis 0 is x, axis 1 is y. A sequence of 1 + N starts with the global token.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from transformers import initialization as init
from transformers.activations import ACT2FN
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.modeling_outputs import MaskedLMOutput, TokenClassifierOutput
from transformers.utils.generic import ModelOutput

from formnet.modeling import losses
from formnet.modeling.attention import (
    MIN_COMPILED_WORDS,
    choose_backend,
    compile_if,
    make_geometry,
)
from formnet.modeling.attention.band import MASKED
from formnet.modeling.attention.export import export_attention
from formnet.modeling.attention.inputs import AttentionGeometry, AttentionInputs, LocalAttention, RichTerms
from formnet.modeling.attention.tiled import tiled_attention
from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.dropout import Dropout
from formnet.modeling.links import LinkHead, StructureTargets, link_loss, make_link_head
from formnet.modeling.weights import Int8PreTrainedModel

# --------------------------------------------------------------------------------------------------------------------
# Rich Attention (Section 3.2)
# --------------------------------------------------------------------------------------------------------------------

#: Each half of an order logit is clamped to this: σ(±30) is 0 or 1 to thirteen digits, and exponentials stay finite.
MAX_HALF_LOGIT = 15.0


class RichAffine(nn.Module):
    """affine⁽ᵖ⁾ of Equation 1 and affine⁽ᵘ⁾ of Equation 2 for both axes, and θ of Equation 4, per head.

    Their input is [q_i; k_j] (the paper's footnote), so each is a sum of a query term and a key term.
    """

    def __init__(self, num_heads: int, head_size: int) -> None:
        super().__init__()
        # Four outputs per head: order x, order y, mean x, mean y.
        self.query_weight = nn.Parameter(torch.empty(num_heads, head_size, 4))
        self.key_weight = nn.Parameter(torch.empty(num_heads, head_size, 4))
        self.bias = nn.Parameter(torch.empty(num_heads, 4))
        self.theta = nn.Parameter(torch.empty(num_heads, 2))

    def forward(self, query: Tensor, key: Tensor) -> RichTerms:
        """Compute the terms from queries and keys [B, N, H, D], in float32 or better: they are exponentiated later."""
        dtype = torch.promote_types(query.dtype, torch.float32)
        with torch.autocast(query.device.type, enabled=False):
            query_terms = _per_head_linear(query, self.query_weight).to(dtype)
            key_terms = _per_head_linear(key, self.key_weight).to(dtype) + self.bias.to(dtype)
        limit = MAX_HALF_LOGIT
        return RichTerms(
            order_query=query_terms[..., :2].clamp(-limit, limit),
            order_key=key_terms[..., :2].clamp(-limit, limit),
            mean_query=query_terms[..., 2:],
            mean_key=key_terms[..., 2:],
            theta=self.theta.to(dtype),
        )


def _per_head_linear(states: Tensor, weight: Tensor) -> Tensor:
    """Multiply each head's values with its own matrix, as one product with a block-diagonal matrix: [B, N, H, 4]."""
    return (states.flatten(2) @ torch.block_diag(*weight.to(states.dtype))).unflatten(-1, (len(weight), -1))


def pair_scores(terms: RichTerms, delta: Tensor) -> Tensor:
    """Compute s⁽ᵒ⁾_ij + s⁽ᵈ⁾_ij (Equations 1–4), summed over both axes.

    `terms` broadcast against each other to all pairs, [..., 2]; `delta` [..., 2] is the offset from i to j.
    """
    total = torch.zeros((), dtype=delta.dtype, device=delta.device)
    for axis in (0, 1):
        logit = terms.order_query[..., axis] + terms.order_key[..., axis]  # Eq. 1: p_ij = σ(logit)
        mean = terms.mean_query[..., axis] + terms.mean_key[..., axis]  # Eq. 2: μ_ij
        offset = delta[..., axis]
        # Eq. 3: ln p_ij if o_ij = {i < j}, else ln(1 − p_ij), where ln σ(z) = −softplus(−z).
        order_score = -F.softplus(torch.where(offset > 0, -logit, logit), threshold=4 * MAX_HALF_LOGIT)
        # Eq. 4 with d_ij = ln(1 + |i − j|).
        distance_score = -(terms.theta[..., axis] ** 2) * (torch.log1p(offset.abs()) - mean) ** 2 / 2
        # ln 2 makes an undecided order (p = ½) neutral compared to the global token, which has no order.
        total = total + order_score + math.log(2.0) + distance_score
    return total


def rich_scores(terms: RichTerms, centers: Tensor) -> Tensor:
    """Compute order and distance scores of all pairs of tokens with centers [B, N, 2]: [B, H, N, N]."""
    delta = centers[:, None, :] - centers[:, :, None]  # [B, N, N, 2], from i to j
    order_query, order_key, mean_query, mean_key = (term.transpose(1, 2) for term in terms[:4])  # [B, H, N, 2]
    pairs = RichTerms(
        order_query[:, :, :, None],
        order_key[:, :, None],
        mean_query[:, :, :, None],
        mean_key[:, :, None],
        terms.theta[:, None, None],
    )
    return pair_scores(pairs, delta[:, None])


def dense_attention_weights(inputs: AttentionInputs, geometry: AttentionGeometry) -> tuple[Tensor, Tensor]:
    """Compute softmax weights of s_ij = q_i·k_j + s⁽ᵒ⁾_ij + s⁽ᵈ⁾_ij [B, H, N, N] and log-normalizers [B, H, N]."""
    dtype = torch.promote_types(inputs.query.dtype, torch.float32)
    scores = torch.einsum("bihd,bjhd->bhij", inputs.query, inputs.key).to(dtype)
    if inputs.terms is not None:
        scores = scores + rich_scores(inputs.terms, geometry.centers.to(dtype))
    position = torch.arange(inputs.query.shape[1], device=inputs.query.device)
    distance = position[None, :] - position[:, None]
    if inputs.relative is not None:  # ETC's clipped relative positions
        max_distance = inputs.relative.shape[-1] // 2
        by_distance = torch.einsum("bihd,hdr->bhir", inputs.query, inputs.relative).to(dtype)
        index = (distance.clamp(-max_distance, max_distance) + max_distance).expand(*by_distance.shape[:2], -1, -1)
        scores = scores + by_distance.gather(-1, index)
    # Padding attends to itself, so that no row is empty.
    visible = ((distance.abs() <= geometry.radius) & geometry.valid[:, None, :]) | (distance == 0)  # [B, N, N]
    scores = scores.masked_fill(~visible[:, None], MASKED)
    log_normalizer = scores.logsumexp(-1)
    return torch.exp(scores - log_normalizer[..., None]), log_normalizer


def dense_attention(inputs: AttentionInputs, geometry: AttentionGeometry) -> LocalAttention:
    """Attend within the radius, with every pair written out: the reference for the fast backends."""
    weights, log_normalizer = dense_attention_weights(inputs, geometry)
    values = torch.einsum("bhij,bjhd->bihd", weights.to(inputs.value.dtype), inputs.value)
    return LocalAttention(values, log_normalizer.transpose(1, 2))


def local_attention(inputs: AttentionInputs, geometry: AttentionGeometry) -> LocalAttention:
    """Attend within the radius by the backend that was chosen for this batch."""
    if geometry.backend == "dense":
        return dense_attention(inputs, geometry)
    if geometry.backend == "export":
        return export_attention(inputs, geometry, pair_scores)
    assert geometry.band is not None
    return tiled_attention(inputs, geometry.band, compiled=geometry.backend == "compiled")


# --------------------------------------------------------------------------------------------------------------------
# The ETC layer (Section 3.1; Ainslie et al., 2020), with one global token
# --------------------------------------------------------------------------------------------------------------------


def add_global_token(
    values: Tensor,
    log_normalizer: Tensor,
    query: Tensor,
    global_key: Tensor,
    global_value: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """Extend the softmax of local attention by the global token, with `bias` [H] added to its score: [B, N, H, D]."""
    dtype = log_normalizer.dtype
    score = (query.to(dtype) * global_key[:, None].to(dtype)).sum(-1)
    if bias is not None:
        score = score + bias.to(dtype)
    weight = torch.sigmoid(score - log_normalizer)[..., None]
    return (values + weight * (global_value[:, None].to(dtype) - values)).to(values.dtype)


def global_attention(query: Tensor, key: Tensor, value: Tensor, valid: Tensor) -> Tensor:
    """Attend from the global token [B, H, D] to itself and all tokens [B, 1 + N, H, D]: [B, H, D]."""
    dtype = torch.promote_types(query.dtype, torch.float32)
    scores = (query[:, None].to(dtype) * key.to(dtype)).sum(-1)  # [B, 1 + N, H]
    scores = scores.masked_fill(~F.pad(valid, (1, 0), value=True)[..., None], -math.inf)
    return (scores.softmax(1)[..., None] * value.to(dtype)).sum(1).to(value.dtype)


class EtcLayer(GradientCheckpointingLayer):
    """Local and global attention, then a feed-forward block, each followed by LayerNorm.

    Projections and the feed-forward block are shared by the global token and all others; the output projection and the
    LayerNorm after attention are not.
    """

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__()
        width, num_heads = config.hidden_size, config.num_attention_heads
        assert config.intermediate_size is not None
        self.num_heads = num_heads
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.rich = self.global_bias = self.relative = None
        if config.rich_attention:
            self.rich = RichAffine(num_heads, width // num_heads)
            # The global token has no position; each head learns a constant in place of order and distance scores.
            self.global_bias = nn.Parameter(torch.empty(num_heads))
        else:
            positions = 2 * config.max_relative_position + 1
            self.relative = nn.Parameter(torch.empty(num_heads, width // num_heads, positions))
        self.output, self.global_output = nn.Linear(width, width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.global_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.expand = nn.Linear(width, config.intermediate_size)
        self.contract = nn.Linear(config.intermediate_size, width)
        self.activation = ACT2FN[config.hidden_act]
        self.feed_forward_norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, states: Tensor, geometry: AttentionGeometry) -> Tensor:
        """Transform states [B, 1 + N, d]."""
        attended = self.attend(states, geometry)
        tokens = self.norm(states[:, 1:] + self.dropout(self.output(attended[:, 1:])))
        global_token = self.global_norm(states[:, :1] + self.dropout(self.global_output(attended[:, :1])))
        states = torch.cat([global_token, tokens], dim=1)
        update = self.contract(self.activation(self.expand(states)))
        return self.feed_forward_norm(states + self.dropout(update))

    def attend(self, states: Tensor, geometry: AttentionGeometry) -> Tensor:
        """Attend to tokens within the radius and to the global token: [B, 1 + N, d]."""
        query, key, value, inputs = self.project(states)
        local = local_attention(inputs, geometry)
        merge, attend = (compile_if(geometry.backend, function) for function in (add_global_token, global_attention))
        tokens = merge(*local, query[:, 1:], key[:, 0], value[:, 0], self.global_bias)
        global_token = attend(query[:, 0], key, value, geometry.valid)
        return torch.cat([global_token[:, None], tokens], dim=1).flatten(2)

    def attention_weights(self, states: Tensor, geometry: AttentionGeometry) -> Tensor:
        """Compute the attention weights among tokens, for visualization: [B, H, N, N]."""
        return dense_attention_weights(self.project(states)[3], geometry)[0]

    def project(self, states: Tensor) -> tuple[Tensor, Tensor, Tensor, AttentionInputs]:
        """Compute scaled queries, keys and values [B, 1 + N, H, D], and the inputs of attention among tokens."""
        query, key, value = (
            projection(states).unflatten(-1, (self.num_heads, -1)) for projection in (self.query, self.key, self.value)
        )
        terms = None if self.rich is None else self.rich(query[:, 1:], key[:, 1:])
        query = query / math.sqrt(query.shape[-1])
        relative = None if self.relative is None else self.relative.to(query.dtype)
        return query, key, value, AttentionInputs(query[:, 1:], key[:, 1:], value[:, 1:], terms, relative)


# --------------------------------------------------------------------------------------------------------------------
# Super-tokens by graph convolution (Section 3.3)
# --------------------------------------------------------------------------------------------------------------------

Activation = Callable[[Tensor], Tensor]
#: Where a neighbor may be: left, right, above, below.
DIRECTIONS = 4


class NodeProjection(nn.Linear):
    """Projection of a word's embedding and box features to its initial node state, initialized to the embedding."""


class EdgeProjection(nn.Linear):
    """Projection of edge features, with an initial scale of its own."""


class MessageProjection(nn.Linear):
    """Second layer of messages, initialized to zero if the configuration says so."""


class SuperTokens(nn.Module):
    """Initial node states, then layers of message passing along the page graph."""

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__()
        self.node = NodeProjection(config.hidden_size + config.num_node_features, config.hidden_size)
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.layers = nn.ModuleList(GraphLayer(config) for _ in range(config.num_graph_layers))
        self.directions = DIRECTIONS if config.directed_messages else 1
        self.returns_update = config.graph_fusion == "update"

    def forward(
        self, words: Tensor, node_features: Tensor, neighbors: Tensor, edge_features: Tensor, backend: str
    ) -> Tensor:
        """Compute node states [B, W, d] from word embeddings [B, W, d]; `neighbors` [B, W, K] is padded with −1."""
        initial = self.norm(self.node(torch.cat([words, node_features.to(words.dtype)], dim=-1)))
        edges = scale_edge_features(edge_features).to(words.dtype)
        batch, count, _ = neighbors.shape
        # Rows of the flattened batch, so that gathering neighbors is one embedding lookup.
        rows = neighbors.clamp(min=0) + torch.arange(batch, device=neighbors.device)[:, None, None] * count
        if self.directions > 1:  # one row per word and direction
            rows = rows * self.directions + edge_directions(edge_features)
        states = initial
        for layer in self.layers:
            states = layer(states, rows, neighbors >= 0, edges, backend)
        return states - initial if self.returns_update else states


class GraphLayer(nn.Module):
    """A two-layer message on [h_i; h_j; e_ij], one-head attention over neighbors, a residual and LayerNorm.

    Products are split so that the large ones run once per word instead of once per edge: the first layer's matrix by
    its three inputs, and the second layer's is applied after the weighted sum over neighbors.
    """

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__()
        width = config.hidden_size
        self.receiver = nn.Linear(width, width)  # h_i
        self.sender = nn.Linear(width, (DIRECTIONS if config.directed_messages else 1) * width, bias=False)  # h_j
        self.edge = EdgeProjection(config.num_edge_features, width, bias=False)  # e_ij
        self.activation = ACT2FN[config.hidden_act]
        self.num_heads = config.graph_attention_heads
        self.message = MessageProjection(width, width)
        self.attention = nn.Linear(width, width, bias=False)
        self.norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)

    def forward(self, states: Tensor, rows: Tensor, mask: Tensor, edges: Tensor, backend: str) -> Tensor:
        """Pass messages once: [B, W, d]."""
        sent = F.embedding(rows, self.sender(states).view(-1, states.shape[-1]))  # [B, W, K, d]
        # m_ij = V·hidden + c, and its score is (A h_i)·m_ij: Vᵀ is applied to A h_i instead.
        query = torch.matmul(self.attention(states), self.message.weight.to(states.dtype))  # [B, W, d]
        aggregate = compile_if(backend, aggregate_messages)
        received, edge = self.receiver(states), self.edge(edges)
        hidden = aggregate(received, sent, edge, query, mask, self.activation, self.num_heads)
        messages = self.message(hidden) * mask.any(-1, keepdim=True)
        return self.norm(states + self.dropout(messages))


def aggregate_messages(
    received: Tensor, sent: Tensor, edge: Tensor, query: Tensor, mask: Tensor, activation: Activation, num_heads: int
) -> Tensor:
    """Sum the hidden layers of a word's messages [B, W, d]; each head of attention weighs its own part of them."""
    hidden = activation(received[:, :, None] + sent + edge).unflatten(-1, (num_heads, -1))  # [B, W, K, H, d / H]
    scores = (query.unflatten(-1, (num_heads, -1))[:, :, None] * hidden).sum(-1) / math.sqrt(hidden.shape[-1])
    weights = scores.masked_fill(~mask[..., None], -math.inf).softmax(2)
    weights = torch.where(mask[..., None], weights, 0.0)  # a word without neighbors receives nothing
    return (weights[..., None] * hidden).sum(2).flatten(2)


def edge_directions(edge_features: Tensor) -> Tensor:
    """Number edges by where the neighbor is: left or right if the boxes share a height, else above or below."""
    is_right, is_below = edge_features[..., 0] > 0, edge_features[..., 1] > 0
    is_same_line = edge_features[..., 7] <= 0  # no vertical gap
    return torch.where(is_same_line, is_right.long(), 2 + is_below.long())


def scale_edge_features(edge_features: Tensor) -> Tensor:
    """Bring edge features to similar scales.

    The first eight are offsets in shares of the page: signed logarithm of thousandths. The next three are aspect
    ratios. With segments, the last one is 0 or 1.
    """
    offsets, ratios, segment = edge_features[..., :8], edge_features[..., 8:11], edge_features[..., 11:]
    scaled = torch.sign(offsets) * torch.log1p(1000 * offsets.abs()) / 3
    return torch.cat([scaled, torch.log1p(ratios), segment], dim=-1)


# --------------------------------------------------------------------------------------------------------------------
# The model
# --------------------------------------------------------------------------------------------------------------------

#: Initial ideal log-distances of heads, in thousandths of the page: along x (same word, next word, further), and
#: along y (same line, next lines, further).
INITIAL_MEANS_X, INITIAL_MEANS_Y = (1.0, 3.5, 4.5, 5.5), (1.0, 3.5, 5.0)
#: Typical squared deviation from those over both axes; the global token starts with the same penalty.
TYPICAL_DEVIATION = 6.0


@dataclass
class FormNetOutput(ModelOutput):
    """States of tokens and of the document."""

    last_hidden_state: Tensor | None = None  # [B, N, d]
    global_state: Tensor | None = None  # [B, d]
    hidden_states: tuple[Tensor, ...] | None = None  # each [B, 1 + N, d]


class FormNetPreTrainedModel(Int8PreTrainedModel):
    """Configuration and weight initialization shared by all FormNet models."""

    config_class = FormNetConfig
    base_model_prefix = "formnet"
    supports_gradient_checkpointing = True
    _no_split_modules = ["EtcLayer"]  # noqa: RUF012

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        std = self.config.initializer_range
        if isinstance(module, RichAffine):
            init.normal_(module.query_weight, std=std)
            init.normal_(module.key_weight, std=std)
            # Orders start undecided; heads start with different ideal distances.
            means = list(product(INITIAL_MEANS_X, INITIAL_MEANS_Y))
            mean = torch.tensor([means[i % len(means)] for i in range(len(module.bias))])
            init.copy_(module.bias, torch.cat([torch.zeros_like(mean), mean], dim=1))
            init.constant_(module.theta, self.config.initial_theta)
        elif isinstance(module, NodeProjection):
            # transformers initializes only modules with parameters of their own, and a parameter as one unit.
            width = module.out_features
            init.copy_(module.weight, torch.cat([torch.eye(width), module.weight[:, width:]], dim=1))
        elif isinstance(module, EdgeProjection):
            if self.config.edge_initializer_range is not None:
                init.normal_(module.weight, std=self.config.edge_initializer_range)
        elif isinstance(module, MessageProjection):
            if self.config.zero_messages:
                init.zeros_(module.weight)
        elif isinstance(module, EtcLayer):
            if module.relative is not None:
                init.normal_(module.relative, std=std)
            if module.global_bias is not None:
                init.constant_(module.global_bias, -TYPICAL_DEVIATION * self.config.initial_theta**2 / 2)
        elif isinstance(module, LinkHead):
            # At the scale of other matrices, these few inputs would hardly count in a short training.
            for layer in (module.geometry, module.hidden, module.output):
                init.kaiming_uniform_(layer.weight, a=math.sqrt(5))
            for embedding in (module.owner_label, module.part_label):
                init.normal_(embedding.weight, std=0.1)
        elif isinstance(module, FormNetModel):
            init.normal_(module.global_token, std=std)
            if module.gate is not None:
                init.constant_(module.gate, self.config.initial_gate)


class FormNetModel(FormNetPreTrainedModel):
    """The encoder: token embeddings plus super-tokens, read by ETC layers with Rich Attention.

    `attention_backend` is one of `formnet.modeling.attention.BACKENDS`. It is a property of the process, not of the
    trained weights, and therefore not part of the configuration.
    """

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.attention_backend = "auto"
        self.token_embeddings = nn.Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.position_embeddings = nn.Embedding(config.sequence_positions, width) if config.sequence_positions else None
        self.global_token = nn.Parameter(torch.empty(width))
        self.norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)
        self.super_tokens = SuperTokens(config) if config.super_tokens else None
        has_gate = config.super_tokens and config.graph_fusion != "replace"
        self.gate = nn.Parameter(torch.empty(width)) if has_gate else None
        self.layers = nn.ModuleList(EtcLayer(config) for _ in range(config.num_hidden_layers))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the token embeddings."""
        return self.token_embeddings

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Replace the token embeddings."""
        assert isinstance(value, nn.Embedding)
        self.token_embeddings = value

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        token_boxes: Tensor,
        word_ids: Tensor,
        node_features: Tensor | None = None,
        neighbors: Tensor | None = None,
        edge_features: Tensor | None = None,
        output_hidden_states: bool = False,
        **_: Any,
    ) -> FormNetOutput:
        """Encode a batch made by `formnet.encoding.collate`."""
        embeddings = self.token_embeddings(input_ids)  # [B, N, d]
        states = self.embed(embeddings)
        if self.super_tokens is not None:
            assert node_features is not None
            assert neighbors is not None
            assert edge_features is not None
            words = mean_over_tokens(self.norm(embeddings), word_ids, node_features.shape[1])
            graph_backend = choose_backend(self.attention_backend, words, MIN_COMPILED_WORDS)
            nodes = self.super_tokens(words, node_features, neighbors, edge_features, graph_backend)  # [B, W, d]
            of_token = nodes.gather(1, word_ids.clamp(min=0)[..., None].expand_as(embeddings))
            of_token = of_token * attention_mask[..., None].to(of_token.dtype)
            # The tokens of a word share its super-token; without token embeddings, only their positions differ.
            states = self.embed(of_token) if self.gate is None else states + F.pad(self.gate * of_token, (0, 0, 1, 0))
        backend = choose_backend(self.attention_backend, states)
        centers = (token_boxes[..., :2] + token_boxes[..., 2:]) / 2
        rich = self.config.rich_attention
        geometry = make_geometry(attention_mask.bool(), centers, self.config.radius, backend, rich=rich)
        history = [states] if output_hidden_states else None
        for layer in self.layers:
            states = layer(states, geometry)
            if history is not None:
                history.append(states)
        return FormNetOutput(states[:, 1:], states[:, 0], None if history is None else tuple(history))

    def embed(self, embeddings: Tensor) -> Tensor:
        """Prepend the global token to token embeddings and add positions, where there are any: [B, 1 + N, d]."""
        states = torch.cat([self.global_token.expand(embeddings.shape[0], 1, -1), embeddings], dim=1)
        if self.position_embeddings is not None:
            # The global token has position 0; documents longer than the table wrap around to position 1.
            count, last = states.shape[1], self.position_embeddings.num_embeddings - 1
            position = torch.arange(count, device=states.device)
            states = states + self.position_embeddings(torch.where(position > 0, (position - 1) % last + 1, 0))
        embedded: Tensor = self.dropout(self.norm(states))
        return embedded

    @torch.no_grad()
    def attention_weights(self, layer: int, **batch: Any) -> Tensor:
        """Compute one layer's attention weights among tokens, for visualization: [B, H, N, N]."""
        states = self(**batch, output_hidden_states=True).hidden_states[layer]
        centers = (batch["token_boxes"][..., :2] + batch["token_boxes"][..., 2:]) / 2
        rich = self.config.rich_attention
        geometry = make_geometry(batch["attention_mask"].bool(), centers, self.config.radius, "dense", rich=rich)
        module = self.layers[layer]
        assert isinstance(module, EtcLayer)
        return module.attention_weights(states, geometry)


def mean_over_tokens(embeddings: Tensor, word_ids: Tensor, num_words: int) -> Tensor:
    """Average the token embeddings [B, N, d] of each word: [B, W, d]; `word_ids` [B, N] is −1 for padding."""
    batch, _, width = embeddings.shape
    mask = (word_ids >= 0).to(embeddings.dtype)
    word = word_ids.clamp(min=0)
    total = embeddings.new_zeros(batch, num_words, width)
    total = total.scatter_add(1, word[..., None].expand_as(embeddings), embeddings * mask[..., None])
    count = embeddings.new_zeros(batch, num_words).scatter_add(1, word, mask)
    return total / count.clamp(min=1)[..., None]


# --------------------------------------------------------------------------------------------------------------------
# Heads
# --------------------------------------------------------------------------------------------------------------------


@dataclass
class FormNetTokenClassifierOutput(TokenClassifierOutput):
    """Tag scores [B, W, T] and, where there are heads for them, other scores."""

    key_logits: Tensor | None = None  # [B, W]
    link_terms: Tensor | None = None  # [B, W, 2P]
    type_logits: Tensor | None = None  # [B, C]


class FormNetForTokenClassification(FormNetPreTrainedModel):
    """BIOES tags for words, predicted at each word's first token; optionally captions and links between entities.

    With several heads (`config.task`), each document has labels for one of them, `head` [B], numbered within that head.
    """

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__(config)
        self.formnet = FormNetModel(config)
        self.dropout = Dropout(config.classifier_dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels or 2)
        self.key_classifier = nn.Linear(config.hidden_size, 1) if config.key_head else None
        self.link_head = make_link_head(config)
        self.type_classifier = nn.Linear(config.hidden_size, config.num_types) if config.num_types else None
        self.post_init()

    def forward(
        self,
        first_token: Tensor,
        labels: Tensor | None = None,
        head: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        structure: StructureTargets | None = None,
        unknown_types: Tensor | None = None,
        **inputs: Any,
    ) -> FormNetTokenClassifierOutput:
        """Compute tag scores [B, W, T] and, given labels [B, W] or a teacher's probabilities [B, W, T], the loss."""
        encoded = self.formnet(**inputs)
        states = encoded.last_hidden_state
        at_word = first_token.clamp(min=0)[..., None].expand(-1, -1, states.shape[-1])
        words = self.dropout(states.gather(1, at_word))
        logits = self.classifier(words)
        key_logits = None if self.key_classifier is None else self.key_classifier(words)[..., 0]
        link_terms = None if self.link_head is None else self.link_head.project(words)
        type_logits = None if self.type_classifier is None else self.type_classifier(encoded.global_state)
        output = FormNetTokenClassifierOutput(None, logits, None, None, key_logits, link_terms, type_logits)
        if labels is None:
            return output
        if labels.is_floating_point():
            loss = losses.distillation_loss(logits, labels, self.head_sizes, num_items_in_batch)
        elif self.config.loss == "crf":
            loss = losses.multi_head_crf_loss(logits, labels, head, self.head_sizes, num_items_in_batch, unknown_types)
        elif self.config.loss == "all_tokens":
            scores = self.classifier(self.dropout(states))
            loss = losses.all_tokens_loss(scores, inputs["word_ids"], labels, head, self.head_sizes, num_items_in_batch)
        else:
            targets, scores = losses.restrict_to_head(labels, logits, head, self.head_sizes)
            loss = losses.mean_loss(scores.flatten(0, 1), targets.flatten(), num_items_in_batch)
        if structure is not None:
            loss = loss + losses.divide_by_labels(self.structure_loss(output, structure), labels, num_items_in_batch)
        return FormNetTokenClassifierOutput(**{"loss": loss, **output})  # first, as in other models

    def structure_loss(self, output: FormNetTokenClassifierOutput, targets: StructureTargets) -> Tensor:
        """Sum the losses of captions, over the words of entities, and of links, over the parts."""
        total = self.classifier.weight.new_zeros(())
        if output.key_logits is not None:
            known = targets["keys"] >= 0
            keys, scores = targets["keys"][known].float(), output.key_logits[known].float()
            total = total + F.binary_cross_entropy_with_logits(scores, keys, reduction="sum")
        if self.link_head is not None:
            total = total + link_loss(self.link_head(output.link_terms, targets["pairs"]), targets["owner"])
        return total

    @property
    def head_sizes(self) -> list[int]:
        """Number of tags per head."""
        return list(self.config.get_task().heads.values()) or [self.classifier.out_features]


class FormNetForMaskedLM(FormNetPreTrainedModel):
    """Masked language model for pre-training, with output weights tied to the token embeddings."""

    _tied_weights_keys = {"decoder.weight": "formnet.token_embeddings.weight"}  # noqa: RUF012

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__(config)
        self.formnet = FormNetModel(config)
        self.transform = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACT2FN[config.hidden_act]
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        """Return the output layer."""
        return self.decoder

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        """Replace the output layer."""
        assert isinstance(new_embeddings, nn.Linear)
        self.decoder = new_embeddings

    def forward(
        self, labels: Tensor | None = None, num_items_in_batch: Tensor | int | None = None, **inputs: Any
    ) -> MaskedLMOutput:
        """Score tokens: all of them [B, N, V], or, given labels, only the masked ones [masked, V]."""
        states = self.formnet(**inputs).last_hidden_state
        if labels is None:
            return MaskedLMOutput(logits=self.score(states))
        masked = labels != losses.IGNORE_INDEX
        logits = self.score(states[masked])
        # Over a large vocabulary the loss is worth compiling.
        loss = compile_if(choose_backend(self.formnet.attention_backend, logits), losses.mean_loss)
        return MaskedLMOutput(loss=loss(logits, labels[masked], num_items_in_batch), logits=logits)

    def score(self, states: Tensor) -> Tensor:
        """Score the vocabulary from states: [..., d] to [..., V]."""
        scores: Tensor = self.decoder(self.norm(self.activation(self.transform(states))))
        return scores
