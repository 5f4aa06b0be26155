"""Starting from a BERT-family encoder: its embeddings, attention and feed-forward parts become ETC's.

[CLS] becomes the global token. Order starts undecided, distance barely matters, and super-tokens start closed, so the
first step is very nearly the encoder that it came from (exactly, with θ = 0, for text within the radius).
"""

from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModel

from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.network import FormNetModel
from formnet.modeling.rich_attention import RichAffine

#: θ = 0 would never learn, since its gradient is proportional to it; this changes scores by a few hundredths.
BARELY = 0.05
_FAMILY = ("bert",)


def warm_config(source: str | Path, **changes: Any) -> FormNetConfig:
    """Take the shape of an encoder for a FormNet that can start from it."""
    encoder = AutoConfig.from_pretrained(source)
    if encoder.model_type not in _FAMILY:
        raise ValueError(
            f"{source}: cannot start from a {encoder.model_type!r} encoder; known are {', '.join(_FAMILY)}."
        )
    shape = {
        "vocab_size": encoder.vocab_size,
        "hidden_size": encoder.hidden_size,
        "num_attention_heads": encoder.num_attention_heads,
        "num_hidden_layers": encoder.num_hidden_layers,
        "num_graph_layers": 3,
        "intermediate_size": encoder.intermediate_size,
        "hidden_act": encoder.hidden_act,
        "layer_norm_eps": encoder.layer_norm_eps,
        "pad_token_id": encoder.pad_token_id,
        "sequence_positions": encoder.max_position_embeddings,
        "initial_sharpness": BARELY,
        "initial_gate": 0.0,
    }
    return FormNetConfig(**{**shape, **changes})


@torch.no_grad()
def warm_start(model: FormNetModel, source: str | Path, cls_id: int = 101) -> None:
    """Copy an encoder's weights into a model made with `warm_config`; fewer layers take the encoder's first."""
    encoder: Any = AutoModel.from_pretrained(source, add_pooling_layer=False)
    embeddings = encoder.embeddings
    kind = embeddings.token_type_embeddings.weight[0]  # every token is of the first segment
    model.pieces.weight.copy_(embeddings.word_embeddings.weight)
    model.global_token.copy_(embeddings.word_embeddings.weight[cls_id])
    if model.positions is None:
        model.pieces.weight.add_(kind)
        model.global_token.add_(kind)
    else:
        model.positions.weight.copy_(embeddings.position_embeddings.weight + kind)
    _copy(model.norm, embeddings.LayerNorm)
    for ours, theirs in zip(model.layers, encoder.encoder.layer, strict=False):
        assert isinstance(ours, nn.Module)
        attention = theirs.attention
        pairs = {
            "query": attention.self.query,
            "key": attention.self.key,
            "value": attention.self.value,
            "output": attention.output.dense,
            "global_output": attention.output.dense,
            "norm": attention.output.LayerNorm,
            "global_norm": attention.output.LayerNorm,
            "expand": theirs.intermediate.dense,
            "contract": theirs.output.dense,
            "feed_forward_norm": theirs.output.LayerNorm,
        }
        for name, part in pairs.items():
            _copy(ours.get_submodule(name), part)
        if isinstance(ours.rich, RichAffine):  # undecided, whatever the encoder's queries and keys are
            ours.rich.row.zero_()
            ours.rich.column.zero_()


def _copy(ours: nn.Module, theirs: nn.Module) -> None:
    ours.load_state_dict(theirs.state_dict())
