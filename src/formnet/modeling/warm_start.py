"""Starting from an encoder of the BERT family: its embeddings, attention and feed-forward parts become ETC's.

[CLS] becomes the global token. Order starts undecided, distance barely matters, and super-tokens start closed, so the
first step is very nearly the encoder that it came from (BERT exactly, with θ = 0, for text within the radius). MPNet's
bias by relative position has no counterpart here and is left behind.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.network import FormNetModel
from formnet.modeling.rich_attention import RichAffine

#: θ = 0 would never learn, since its gradient is proportional to it; this changes scores by a few hundredths.
BARELY = 0.05
#: [CLS] in BERT's own vocabularies.
_CLS = 101
#: Encoders known, with how many of their positions come before the first token's.
_FAMILY = {"bert": 0, "mpnet": 2}


class EncoderParts(NamedTuple):
    """An encoder's parts under our names."""

    pieces: Tensor  # [V, d]
    positions: Tensor  # [positions, d]
    norm: nn.Module
    first: int  # the piece that stands for the whole text
    layers: Sequence[Mapping[str, nn.Module]]


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
        "sequence_positions": encoder.max_position_embeddings - _FAMILY[encoder.model_type],
        "initial_sharpness": BARELY,
        "initial_gate": 0.0,
    }
    return FormNetConfig(**{**shape, **changes})


@torch.no_grad()
def warm_start(model: FormNetModel, source: str | Path, cls_id: int | None = None) -> set[str]:
    """Copy an encoder's weights into a model made with `warm_config`; fewer layers take the encoder's first.

    `cls_id` is the piece [CLS], where it is not BERT's. Gives the names of the weights copied.
    """
    loaded: Any = AutoModel.from_pretrained(source, add_pooling_layer=False)
    encoder = (
        _bert(loaded, _CLS if cls_id is None else cls_id) if loaded.config.model_type == "bert" else _mpnet(loaded)
    )
    model.pieces.weight.copy_(encoder.pieces)
    model.global_token.copy_(encoder.pieces[encoder.first])
    if model.positions is not None:
        model.positions.weight.copy_(encoder.positions)
    _copy(model.norm, encoder.norm)
    brought = {"pieces.weight", "global_token", "positions.weight", "norm.weight", "norm.bias"}
    for number, (ours, theirs) in enumerate(zip(model.layers, encoder.layers, strict=False)):
        assert isinstance(ours, nn.Module)
        for name, part in theirs.items():
            _copy(ours.get_submodule(name), part)
            brought |= {f"layers.{number}.{name}.{weight}" for weight, _ in part.named_parameters()}
        if isinstance(ours.rich, RichAffine):  # undecided, whatever the encoder's queries and keys are
            ours.rich.row.zero_()
            ours.rich.column.zero_()
    return brought


def _bert(model: Any, cls_id: int) -> EncoderParts:
    embeddings = model.embeddings
    kind = embeddings.token_type_embeddings.weight[0]  # every token is of the first segment
    layers = [
        {
            "query": layer.attention.self.query,
            "key": layer.attention.self.key,
            "value": layer.attention.self.value,
            **_outputs(layer.attention.output.dense, layer.attention.output.LayerNorm, layer),
        }
        for layer in model.encoder.layer
    ]
    pieces = embeddings.word_embeddings.weight + kind
    return EncoderParts(pieces, embeddings.position_embeddings.weight, embeddings.LayerNorm, cls_id, layers)


def _mpnet(model: Any) -> EncoderParts:
    embeddings = model.embeddings
    layers = [
        {
            "query": layer.attention.attn.q,
            "key": layer.attention.attn.k,
            "value": layer.attention.attn.v,
            **_outputs(layer.attention.attn.o, layer.attention.LayerNorm, layer),
        }
        for layer in model.encoder.layer
    ]
    positions = embeddings.position_embeddings.weight[_FAMILY["mpnet"] :]
    pieces = embeddings.word_embeddings.weight
    return EncoderParts(pieces, positions, embeddings.LayerNorm, model.config.bos_token_id, layers)


def _outputs(projection: nn.Module, norm: nn.Module, layer: Any) -> dict[str, nn.Module]:
    """Name what follows attention; the global token's own parts start as copies."""
    return {
        "output": projection,
        "global_output": projection,
        "norm": norm,
        "global_norm": norm,
        "expand": layer.intermediate.dense,
        "contract": layer.output.dense,
        "feed_forward_norm": layer.output.LayerNorm,
    }


def _copy(ours: nn.Module, theirs: nn.Module) -> None:
    ours.load_state_dict(theirs.state_dict())
