"""FormNet: super-tokens from the page graph, read by ETC with Rich Attention; heads for masked language and for tags.

B documents, P pieces, W words, d the width, T tags.
"""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.activations import ACT2FN
from transformers.utils.generic import ModelOutput

from formnet.modeling.attention_inputs import make_layout
from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.dropout import Dropout
from formnet.modeling.etc_layer import EtcLayer
from formnet.modeling.local_attention import choose_backend
from formnet.modeling.path_loss import path_loss
from formnet.modeling.rich_attention import RichAffine
from formnet.modeling.super_tokens import NodeInput, SuperTokens
from formnet.modeling.tiles import fused

#: Log-distances on a page of a thousand units that heads start to look at: here, a word on, further along; then this
#: line, the next lines, further down. What does not exist on a page would leave a head to the global token alone.
ALONG, DOWN = (1.0, 3.5, 4.5, 5.5), (1.0, 3.5, 5.0)
#: How far, squared and over both axes, a pair of a page typically is from those: the global token is charged as much.
MIDDLING = 6.0


@dataclass
class FormNetOutput(ModelOutput):
    """States of pieces and of the document."""

    last_hidden_state: Tensor | None = None  # [B, P, d]
    global_state: Tensor | None = None  # [B, d]
    hidden_states: tuple[Tensor, ...] | None = None  # each [B, 1 + P, d], the global token first


@dataclass
class FormNetScores(ModelOutput):
    """A loss, if there were labels, and scores: [B, W, T] for tags, [B, P, V] for pieces."""

    loss: Tensor | None = None
    logits: Tensor | None = None


class FormNetPreTrainedModel(PreTrainedModel):
    """What all FormNets have in common: configuration and initial weights."""

    config_class = FormNetConfig
    base_model_prefix = "formnet"
    supports_gradient_checkpointing = True
    _no_split_modules = ["EtcLayer"]  # noqa: RUF012

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        spread = self.config.initializer_range
        if isinstance(module, RichAffine):
            init.normal_(module.row, std=spread)
            init.normal_(module.column, std=spread)
            # Orders start undecided; heads start looking at different distances.
            places = list(product(ALONG, DOWN))
            ideal = torch.tensor([places[i % len(places)] for i in range(len(module.bias))])
            init.copy_(module.bias, torch.cat([torch.zeros_like(ideal), ideal], dim=1))
            init.constant_(module.sharpness, self.config.initial_sharpness)
        elif isinstance(module, NodeInput):
            # A super-token starts as its word, to which neighbors add. Transformers asks only for modules with
            # weights of their own, and knows by the whole weight, not by a part of it, that it was loaded.
            width = module.out_features
            start = torch.cat([torch.eye(width), module.weight[:, width:]], dim=1)
            init.copy_(module.weight, start)
        elif isinstance(module, EtcLayer):
            if module.relative is not None:
                init.normal_(module.relative, std=spread)
            if module.to_global is not None:
                init.constant_(module.to_global, -MIDDLING * self.config.initial_sharpness**2 / 2)
        elif isinstance(module, FormNetModel):
            init.normal_(module.global_token, std=spread)
            if module.gate is not None:
                init.constant_(module.gate, self.config.initial_gate)


class FormNetModel(FormNetPreTrainedModel):
    """Pieces in, states out."""

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__(config)
        width = config.hidden_size
        self.pieces = nn.Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)
        self.positions = nn.Embedding(config.sequence_positions, width) if config.sequence_positions else None
        self.global_token = nn.Parameter(torch.empty(width))
        self.norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        self.dropout = Dropout(config.hidden_dropout_prob)
        self.super_tokens = SuperTokens(config) if config.super_tokens else None
        self.gate = nn.Parameter(torch.empty(width)) if config.super_tokens else None
        self.layers = nn.ModuleList(EtcLayer(config) for _ in range(config.num_hidden_layers))
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Give the embedding of pieces."""
        return self.pieces

    def set_input_embeddings(self, value: nn.Module) -> None:
        """Take another embedding of pieces."""
        assert isinstance(value, nn.Embedding)
        self.pieces = value

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
        """Read a batch as `formnet.encoding.collate` makes it."""
        states = self.embed(input_ids, attention_mask, word_ids, node_features, neighbors, edge_features)
        valid = attention_mask.bool()
        # Where attention is concerned, a piece is where its middle is.
        places = (token_boxes[..., :2] + token_boxes[..., 2:]) / 2
        rich = self.config.rich_attention
        backend = choose_backend(self.config.attention_backend, states)
        layout = make_layout(valid, places, self.config.radius, backend, rich=rich)
        history = [states] if output_hidden_states else None
        for layer in self.layers:
            states = layer(states, layout)
            if history is not None:
                history.append(states)
        return FormNetOutput(states[:, 1:], states[:, 0], None if history is None else tuple(history))

    @torch.no_grad()
    def attention_weights(self, layer: int, **batch: Any) -> Tensor:
        """Give the weights of one layer's attention among pieces, for people to look at: [B, H, P, P]."""
        states = self(**batch, output_hidden_states=True).hidden_states[layer]
        places = (batch["token_boxes"][..., :2] + batch["token_boxes"][..., 2:]) / 2
        rich = self.config.rich_attention
        layout = make_layout(batch["attention_mask"].bool(), places, self.config.radius, "dense", rich=rich)
        chosen = self.layers[layer]
        assert isinstance(chosen, EtcLayer)
        return chosen.weights(states, layout)

    def embed(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        word_ids: Tensor,
        node_features: Tensor | None,
        neighbors: Tensor | None,
        edge_features: Tensor | None,
    ) -> Tensor:
        """Embed pieces, add their words' super-tokens, and put the global token first: [B, 1 + P, d]."""
        pieces = self.pieces(input_ids)
        first = self.global_token.expand(pieces.shape[0], 1, -1)
        states = torch.cat([first, pieces], dim=1)
        if self.positions is not None:
            # The global token has the first position; the others go round when a document is longer than the table.
            count, last = states.shape[1], self.positions.num_embeddings - 1
            number = torch.arange(count, device=states.device)
            states = states + self.positions(torch.where(number > 0, (number - 1) % last + 1, 0))
        states = self.dropout(self.norm(states))
        if self.super_tokens is None or self.gate is None:
            return states
        assert node_features is not None
        assert neighbors is not None
        assert edge_features is not None
        words = mean_over_tokens(self.norm(pieces), word_ids, node_features.shape[1])
        graph = self.super_tokens(words, node_features, neighbors, edge_features)  # [B, W, d]
        of_piece = graph.gather(1, word_ids.clamp(min=0)[..., None].expand_as(pieces))
        of_piece = of_piece * attention_mask[..., None].to(of_piece.dtype)
        return states + F.pad(self.gate * of_piece, (0, 0, 1, 0))


def mean_over_tokens(pieces: Tensor, word_ids: Tensor, words: int) -> Tensor:
    """Give each word the mean of its pieces: [B, P, d] to [B, W, d]."""
    batch, _, width = pieces.shape
    there = (word_ids >= 0).to(pieces.dtype)
    target = word_ids.clamp(min=0)
    total = pieces.new_zeros(batch, words, width)
    total = total.scatter_add(1, target[..., None].expand_as(pieces), pieces * there[..., None])
    count = pieces.new_zeros(batch, words).scatter_add(1, target, there)
    return total / count.clamp(min=1)[..., None]


def mean_loss(logits: Tensor, labels: Tensor, count: Tensor | int | None) -> Tensor:
    """Give the cross-entropy over labels, as a share of `count` where a batch is only a part of a larger one."""
    return over_labels(F.cross_entropy(logits.float(), labels, reduction="sum"), labels, count)


def over_labels(total: Tensor, labels: Tensor, count: Tensor | int | None) -> Tensor:
    """Divide by `count`, or by how many labels there are."""
    return total / torch.as_tensor((labels >= 0).sum() if count is None else count).clamp(min=1)


class FormNetForTokenClassification(FormNetPreTrainedModel):
    """A tag for every word, scored at its first piece; with several heads, one of each head.

    A document is labeled for one head, `head` [B], and its labels are numbered within it.
    """

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__(config)
        self.formnet = FormNetModel(config)
        self.dropout = Dropout(config.classifier_dropout)
        self.classifier = nn.Linear(config.hidden_size, config.num_labels or 2)
        self.post_init()

    def forward(
        self,
        first_token: Tensor,
        labels: Tensor | None = None,
        head: Tensor | None = None,
        num_items_in_batch: Tensor | int | None = None,
        **inputs: Any,
    ) -> FormNetScores:
        """Score tags [B, W, T]; the loss is the cross-entropy over words, those labeled −100 left out."""
        states = self.formnet(**inputs).last_hidden_state
        at_word = first_token.clamp(min=0)[..., None].expand(-1, -1, states.shape[-1])
        logits = self.classifier(self.dropout(states.gather(1, at_word)))
        if labels is None:
            return FormNetScores(None, logits)
        if self.config.loss_on_all_pieces:
            loss = self.loss_of_pieces(states, inputs["word_ids"], labels, head, num_items_in_batch)
            return FormNetScores(loss, logits)
        if self.config.loss_on_paths:
            return FormNetScores(self.loss_of_paths(logits, labels, head, num_items_in_batch), logits)
        asked, answers = self.within_head(labels, logits, head)
        return FormNetScores(mean_loss(answers.flatten(0, 1), asked.flatten(), num_items_in_batch), logits)

    def within_head(self, labels: Tensor, logits: Tensor, head: Tensor | None) -> tuple[Tensor, Tensor]:
        """Number labels through all heads, and leave the tags of other heads out of the answer."""
        if head is None or not self.config.heads:
            return labels, logits
        sizes = torch.tensor(list(self.config.heads.values()), device=labels.device)
        of_head = torch.repeat_interleave(torch.arange(len(sizes), device=labels.device), sizes)  # [T]
        first = (torch.cumsum(sizes, 0) - sizes)[head][:, None]
        other = of_head[None, None, :] != head[:, None, None]
        return torch.where(labels >= 0, labels + first, labels), logits.masked_fill(other, -math.inf)

    def loss_of_paths(self, logits: Tensor, labels: Tensor, head: Tensor | None, count: Tensor | int | None) -> Tensor:
        """Ask each document for its whole path of tags, by the head that it is labeled for."""
        sizes = list((self.config.heads or {"": logits.shape[-1]}).values())
        total = logits.new_zeros(())
        for number, part in enumerate(logits.split(sizes, dim=-1)):
            own = slice(None) if head is None or len(sizes) == 1 else head == number
            total = total + path_loss(part[own], labels[own]).sum()
        return over_labels(total, labels, count)

    def loss_of_pieces(
        self, states: Tensor, word_ids: Tensor, labels: Tensor, head: Tensor | None, count: Tensor | int | None
    ) -> Tensor:
        """Ask every piece for its word's tag; a word's pieces together weigh as much as one word."""
        word = word_ids.clamp(min=0)
        asked = labels.gather(1, word).masked_fill(word_ids < 0, -100)  # [B, P]
        asked, logits = self.within_head(asked, self.classifier(self.dropout(states)), head)
        losses = F.cross_entropy(logits.flatten(0, 1).float(), asked.flatten(), reduction="none").view_as(asked)
        there = (word_ids >= 0).to(losses.dtype)
        pieces = torch.zeros_like(labels, dtype=losses.dtype).scatter_add(1, word, there)  # [B, W]
        return over_labels((losses / pieces.gather(1, word).clamp(min=1)).sum(), labels, count)


class FormNetForMaskedLM(FormNetPreTrainedModel):
    """The masked language model of pre-training, its output tied to the embedding of pieces."""

    _tied_weights_keys = {"decoder.weight": "formnet.pieces.weight"}  # noqa: RUF012

    def __init__(self, config: FormNetConfig) -> None:
        super().__init__(config)
        self.formnet = FormNetModel(config)
        self.transform = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACT2FN[config.hidden_act]
        self.norm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.decoder = nn.Linear(config.hidden_size, config.vocab_size)
        self.post_init()

    def get_output_embeddings(self) -> nn.Module:
        """Give the layer that scores pieces."""
        return self.decoder

    def set_output_embeddings(self, new_embeddings: nn.Module) -> None:
        """Take another layer that scores pieces."""
        assert isinstance(new_embeddings, nn.Linear)
        self.decoder = new_embeddings

    def forward(
        self, labels: Tensor | None = None, num_items_in_batch: Tensor | int | None = None, **inputs: Any
    ) -> FormNetScores:
        """Score pieces: all of them [B, P, V], or with labels only those to be guessed, [guessed, V]."""
        states = self.formnet(**inputs).last_hidden_state
        if labels is None:
            return FormNetScores(None, self.score(states))
        asked = labels != -100
        logits = self.score(states[asked])
        # Over a whole vocabulary the loss is worth fusing.
        loss = fused(mean_loss) if choose_backend(self.config.attention_backend, logits) == "compiled" else mean_loss
        return FormNetScores(loss(logits, labels[asked], num_items_in_batch), logits)

    def score(self, states: Tensor) -> Tensor:
        """Score pieces from states: [..., d] to [..., V]."""
        scores: Tensor = self.decoder(self.norm(self.activation(self.transform(states))))
        return scores
