"""Warm start from a BERT-family encoder: its embeddings, attention and feed-forward blocks become ETC's.

[CLS] becomes the global token. Order starts undecided, distance nearly neutral and super-tokens gated off, so the model
starts very close to the encoder (exactly BERT with θ = 0, for text within the radius). MPNet's relative position bias
has no counterpart and is dropped.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.formnet import FormNetModel, RichAffine

#: Initial θ. Zero would never learn, since its gradient is proportional to it; this changes scores by a few hundredths.
INITIAL_THETA = 0.05
#: Id of [CLS] in BERT's own vocabularies.
_CLS = 101
#: Supported encoders, with the number of positions before that of the first token.
_POSITION_OFFSETS = {"bert": 0, "mpnet": 2}


class EncoderParts(NamedTuple):
    """An encoder's parts, under the names that FormNet uses."""

    token_embeddings: Tensor  # [V, d]
    position_embeddings: Tensor  # [positions, d]
    norm: nn.Module
    cls_id: int  # becomes the global token
    layers: Sequence[Mapping[str, nn.Module]]


def warm_config(source: str | Path, **overrides: Any) -> FormNetConfig:
    """Return the configuration of a FormNet with the shape of an encoder."""
    encoder = AutoConfig.from_pretrained(source, trust_remote_code=False)
    if encoder.model_type not in _POSITION_OFFSETS:
        raise ValueError(
            f"{source}: {encoder.model_type!r} encoders are not supported. Use one of {', '.join(_POSITION_OFFSETS)}."
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
        "sequence_positions": encoder.max_position_embeddings - _POSITION_OFFSETS[encoder.model_type],
        "initial_theta": INITIAL_THETA,
        "initial_gate": 0.0,
    }
    return FormNetConfig(**{**shape, **overrides})


@torch.no_grad()
def warm_start(model: FormNetModel, source: str | Path, cls_id: int | None = None) -> set[str]:
    """Copy an encoder's weights into a model made with `warm_config`, and return the names of the parameters copied.

    A model with fewer layers takes the encoder's first ones. `cls_id` is the id of [CLS], where it is not BERT's.
    """
    loaded: Any = AutoModel.from_pretrained(
        source, add_pooling_layer=False, use_safetensors=True, trust_remote_code=False
    )
    encoder = (
        _bert(loaded, _CLS if cls_id is None else cls_id) if loaded.config.model_type == "bert" else _mpnet(loaded)
    )
    model.token_embeddings.weight.copy_(encoder.token_embeddings)
    model.global_token.copy_(encoder.token_embeddings[encoder.cls_id])
    if model.position_embeddings is not None:
        model.position_embeddings.weight.copy_(encoder.position_embeddings)
    _copy(model.norm, encoder.norm)
    copied = {"token_embeddings.weight", "global_token", "position_embeddings.weight", "norm.weight", "norm.bias"}
    for number, (ours, theirs) in enumerate(zip(model.layers, encoder.layers, strict=False)):
        assert isinstance(ours, nn.Module)
        for name, part in theirs.items():
            _copy(ours.get_submodule(name), part)
            copied |= {f"layers.{number}.{name}.{weight}" for weight, _ in part.named_parameters()}
        if isinstance(ours.rich, RichAffine):  # order starts undecided for any query and key
            ours.rich.query_weight.zero_()
            ours.rich.key_weight.zero_()
    return copied


def _bert(model: Any, cls_id: int) -> EncoderParts:
    embeddings = model.embeddings
    segment = embeddings.token_type_embeddings.weight[0]  # every token is in the first segment
    layers = [
        {
            "query": layer.attention.self.query,
            "key": layer.attention.self.key,
            "value": layer.attention.self.value,
            **_outputs(layer.attention.output.dense, layer.attention.output.LayerNorm, layer),
        }
        for layer in model.encoder.layer
    ]
    token_embeddings = embeddings.word_embeddings.weight + segment
    return EncoderParts(token_embeddings, embeddings.position_embeddings.weight, embeddings.LayerNorm, cls_id, layers)


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
    positions = embeddings.position_embeddings.weight[_POSITION_OFFSETS["mpnet"] :]
    return EncoderParts(
        embeddings.word_embeddings.weight, positions, embeddings.LayerNorm, model.config.bos_token_id, layers
    )


def _outputs(projection: nn.Module, norm: nn.Module, layer: Any) -> dict[str, nn.Module]:
    """Name the modules after attention; the global token's own modules start as copies."""
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
