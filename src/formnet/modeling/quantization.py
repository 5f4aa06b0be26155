"""Compact checkpoints: int8 matrices with a scale per row, and a pruned vocabulary.

Loading restores a float32 network, so nothing else depends on the format.
"""

import json
import re
from collections.abc import Collection
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from transformers.utils import SAFE_WEIGHTS_NAME

from formnet.errors import TokenizerError
from formnet.modeling.configuration import FormNetConfig
from formnet.modeling.formnet import FormNetForTokenClassification

INT8_WEIGHTS_NAME = "model-int8.safetensors"
_SCALE = ".scale"
#: Smaller tensors are stored in half precision.
_MIN_ELEMENTS = 4096
#: Parameter names of version 0.1, in which the shipped weights are stored.
_OLD_NAMES = {
    r"\bpieces\.weight$": "token_embeddings.weight",
    r"\bpositions\.weight$": "position_embeddings.weight",
    r"\brich\.row$": "rich.query_weight",
    r"\brich\.column$": "rich.key_weight",
    r"\brich\.sharpness$": "rich.theta",
    r"\bto_global$": "global_bias",
}


def save_quantized(model: FormNetForTokenClassification, folder: Path) -> None:
    """Write the configuration and int8 weights."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(folder)
    save_file(quantize(model.state_dict()), folder / INT8_WEIGHTS_NAME)
    (folder / INT8_WEIGHTS_NAME).chmod(0o644)  # safetensors creates it for its owner only


def load_model(folder: Path) -> FormNetForTokenClassification:
    """Load a token classifier from a folder with int8 or float weights."""
    model = FormNetForTokenClassification(FormNetConfig.from_pretrained(folder))
    model.load_state_dict(load_weights(folder))
    return model.eval()


def find_weights(folder: Path) -> Path | None:
    """Return the weights file of a model folder, if there is one."""
    files = (folder / name for name in (INT8_WEIGHTS_NAME, SAFE_WEIGHTS_NAME))
    return next((file for file in files if file.is_file()), None)


def load_weights(folder: Path) -> dict[str, Tensor]:
    """Load a model folder's weights in full precision, under today's parameter names."""
    file = find_weights(folder)
    if file is None:
        raise OSError(f"there is neither {SAFE_WEIGHTS_NAME} nor {INT8_WEIGHTS_NAME} in it.")
    weights = load_file(file)
    if file.name == INT8_WEIGHTS_NAME:
        weights = dequantize(weights)
    for pattern, replacement in _OLD_NAMES.items():
        weights = {re.sub(pattern, replacement, name): tensor for name, tensor in weights.items()}
    return weights


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
        quantized[name + _SCALE] = scale.half()
    return quantized


def dequantize(quantized: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert weights back to full precision."""
    weights: dict[str, Tensor] = {}
    for name, tensor in quantized.items():
        if name.endswith(_SCALE) and quantized[name.removesuffix(_SCALE)].dtype == torch.int8:
            continue
        weights[name] = tensor.float()
        if tensor.dtype == torch.int8:
            weights[name] *= quantized[name + _SCALE].float().view(-1, *(1,) * (tensor.dim() - 1))
    return weights


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
