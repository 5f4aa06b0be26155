"""Compact checkpoints: int8 matrices with a scale per row, and a pruned vocabulary.

Loading restores a float32 network, so nothing else depends on the format.
"""

import json
from collections.abc import Collection
from pathlib import Path

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from formnet.errors import TokenizerError
from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.formnet import FormNetForMaskedLM, FormNetForTokenClassification
from formnet.modeling.weights import INT8_WEIGHTS_NAME, SCALE, load_weights

#: Smaller tensors are stored in half precision.
_MIN_ELEMENTS = 4096


def save_quantized(model: FormNetForTokenClassification | FormNetForMaskedLM, folder: Path) -> None:
    """Write the configuration and int8 weights."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.architectures = [type(model).__name__]
    model.config.save_pretrained(folder)
    tied = set(model._tied_weights_keys or ())
    weights = {name: tensor for name, tensor in model.state_dict().items() if name not in tied}
    save_file(quantize(weights), folder / INT8_WEIGHTS_NAME)
    (folder / INT8_WEIGHTS_NAME).chmod(0o644)  # safetensors creates it for its owner only


def load_model(folder: Path) -> FormNetForTokenClassification:
    """Load a token classifier from a folder with int8 or float weights."""
    config = FormNetConfig.from_pretrained(folder)
    if is_pretrained_only(config):
        raise ValueError("the model is pre-trained, but has no labels yet. Fine-tune it with formnet train.")
    model = FormNetForTokenClassification(config)
    model.load_state_dict(load_weights(folder))
    return model.eval()


def is_pretrained_only(config: FormNetConfig) -> bool:
    """Return whether a model is a masked language model, which predicts no labels."""
    return config.architectures == [FormNetForMaskedLM.__name__]


def quantize(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert matrices to int8 with a scale per row, and other tensors to half precision."""
    quantized: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if tensor.dim() < 2 or tensor.numel() < _MIN_ELEMENTS:
            quantized[name] = tensor.half()
            continue
        scale = tensor.flatten(1).abs().amax(1).clamp(min=1e-12) / 127
        shape = (-1, *(1,) * (tensor.dim() - 1))
        scale = scale.half().float().clamp(min=1e-7)  # as it will be loaded
        quantized[name] = (tensor / scale.view(shape)).round().clamp(-127, 127).to(torch.int8)
        quantized[name + SCALE] = scale.half()
    return quantized


def prune_vocabulary(
    model: FormNetForTokenClassification, tokenizer: Tokenizer, kept_ids: Collection[int]
) -> Tokenizer:
    """Remove tokens from the vocabulary and the embeddings, except `kept_ids`, single characters and special tokens.

    No word becomes unknown: a word whose tokens are removed is split into smaller ones.
    """
    data = json.loads(tokenizer.to_str())
    if data["model"]["type"] != "WordPiece":
        raise TokenizerError(f"only WordPiece vocabularies can be pruned, not {data['model']['type']}.")
    vocabulary: dict[str, int] = data["model"]["vocab"]
    special = {token["id"] for token in data["added_tokens"]}
    prefix = data["model"]["continuing_subword_prefix"]
    kept = [
        (token, i)
        for token, i in sorted(vocabulary.items(), key=lambda item: item[1])
        if i in kept_ids or i in special or len(token.removeprefix(prefix)) == 1 or token.startswith("[")
    ]
    data["model"]["vocab"] = {token: new for new, (token, _) in enumerate(kept)}
    for token in data["added_tokens"]:
        token["id"] = data["model"]["vocab"][token["content"]]
    data["post_processor"] = None  # it refers to old token ids, and is not used
    rows = torch.tensor([i for _, i in kept])
    network, config = model.formnet, model.config
    padding = data["model"]["vocab"][tokenizer.id_to_token(config.pad_token_id)]
    network.token_embeddings = nn.Embedding.from_pretrained(
        network.token_embeddings.weight.detach()[rows], freeze=False, padding_idx=padding
    )
    config.vocab_size, config.pad_token_id = len(kept), padding
    return Tokenizer.from_str(json.dumps(data))
