"""Weights of a model folder, as floating-point numbers or int8, and transformers' `from_pretrained` for both."""

import re
from os import PathLike
from pathlib import Path
from typing import Any, Self

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import PreTrainedModel
from transformers.utils import SAFE_WEIGHTS_NAME

from formnet.modeling.configuration import FormNetConfig

INT8_WEIGHTS_NAME = "model-int8.safetensors"
#: Ending of the name of a matrix's scales.
SCALE = ".scale"
#: Parameter names of version 0.1, in which the shipped weights are stored.
_OLD_NAMES = {
    r"\bpieces\.weight$": "token_embeddings.weight",
    r"\bpositions\.weight$": "position_embeddings.weight",
    r"\brich\.row$": "rich.query_weight",
    r"\brich\.column$": "rich.key_weight",
    r"\brich\.sharpness$": "rich.theta",
    r"\bto_global$": "global_bias",
}


class Int8PreTrainedModel(PreTrainedModel):
    """A model that `from_pretrained` also loads from int8 weights; its parameters are floating-point numbers."""

    @classmethod
    def from_pretrained(
        cls, pretrained_model_name_or_path: str | PathLike[str] | None, *arguments: Any, **options: Any
    ) -> Self:
        """Load a model like transformers; a folder may hold int8 weights."""
        source = pretrained_model_name_or_path
        if source is not None and (Path(source) / INT8_WEIGHTS_NAME).is_file():
            config = options.pop("config", None)
            if not isinstance(config, FormNetConfig):
                config, options = FormNetConfig.from_pretrained(config or source, return_unused_kwargs=True, **options)
            options |= {"config": config, "state_dict": load_weights(Path(source))}
            source = None
        model: Self = super().from_pretrained(source, *arguments, **options)
        return model


def find_weights(folder: Path) -> Path | None:
    """Return the weights file of a model folder, if there is one."""
    files = [folder / name for name in (INT8_WEIGHTS_NAME, SAFE_WEIGHTS_NAME) if (folder / name).is_file()]
    if len(files) > 1:
        raise OSError(f"there are both {SAFE_WEIGHTS_NAME} and {INT8_WEIGHTS_NAME} in it. Remove the older one.")
    return files[0] if files else None


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


def dequantize(quantized: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert weights back to full precision."""
    weights: dict[str, Tensor] = {}
    for name, tensor in quantized.items():
        if name.endswith(SCALE) and quantized[name.removesuffix(SCALE)].dtype == torch.int8:
            continue
        weights[name] = tensor.float()
        if tensor.dtype == torch.int8:
            weights[name] *= quantized[name + SCALE].float().view(-1, *(1,) * (tensor.dim() - 1))
    return weights
