"""A trained network made small enough to ship: fewer pieces in its vocabulary, and matrices in eight bits.

A row of a matrix is stored as whole numbers between −127 and 127 and one scale; what is no matrix stays in half
precision. Loading gives back a network in full precision, so that nothing else need know.
"""

import json
from collections.abc import Collection
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from formnet.errors import TokenizerError
from formnet.modeling import FormNetConfig, FormNetForTokenClassification

WEIGHTS = "model-int8.safetensors"
_SCALE = ".scale"
#: Smaller matrices are not worth it.
_LEAST = 4096


def save_compact(model: FormNetForTokenClassification, folder: Path) -> None:
    """Write configuration and weights."""
    folder.mkdir(parents=True, exist_ok=True)
    model.config.save_pretrained(folder)
    save_file(compress(model.state_dict()), folder / WEIGHTS)
    (folder / WEIGHTS).chmod(0o644)  # it is written for its owner only


def load_compact(folder: Path) -> FormNetForTokenClassification:
    """Load what `save_compact` wrote."""
    model = FormNetForTokenClassification(FormNetConfig.from_pretrained(folder))
    model.load_state_dict(restore(load_file(folder / WEIGHTS)))
    return model.eval()


def compress(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give weights in eight bits with scales, or in half precision."""
    small: dict[str, Tensor] = {}
    for name, tensor in weights.items():
        if tensor.dim() < 2 or tensor.numel() < _LEAST:
            small[name] = tensor.half()
            continue
        scale = tensor.flatten(1).abs().amax(1).clamp(min=1e-12) / 127
        shape = (-1, *(1,) * (tensor.dim() - 1))
        scale = scale.half().float().clamp(min=1e-7)  # what will be multiplied with
        small[name] = (tensor / scale.view(shape)).round().clamp(-127, 127).to(torch.int8)
        small[name + _SCALE] = scale.half()
    return small


def restore(small: dict[str, Tensor]) -> dict[str, Tensor]:
    """Give weights in full precision again."""
    weights: dict[str, Tensor] = {}
    for name, tensor in small.items():
        if name.endswith(_SCALE) and small[name.removesuffix(_SCALE)].dtype == torch.int8:
            continue
        weights[name] = tensor.float()
        if tensor.dtype == torch.int8:
            weights[name] *= small[name + _SCALE].float().view(-1, *(1,) * (tensor.dim() - 1))
    return weights


def prune_vocabulary(model: FormNetForTokenClassification, tokenizer: Tokenizer, seen: Collection[int]) -> Tokenizer:
    """Keep pieces that were seen, single characters and special pieces; the network forgets the others' rows.

    Nothing becomes unknown that was known: a word whose pieces are gone is cut into smaller ones.
    """
    data = json.loads(tokenizer.to_str())
    if data["model"]["type"] != "WordPiece":
        raise TokenizerError(f"only word-piece vocabularies can be pruned, not {data['model']['type']}.")
    vocabulary: dict[str, int] = data["model"]["vocab"]
    special = {token["id"] for token in data["added_tokens"]}
    prefix = data["model"]["continuing_subword_prefix"]
    kept = [
        (piece, i)
        for piece, i in sorted(vocabulary.items(), key=lambda item: item[1])
        if i in seen or i in special or len(piece.removeprefix(prefix)) == 1 or piece.startswith("[")
    ]
    data["model"]["vocab"] = {piece: new for new, (piece, _) in enumerate(kept)}
    for token in data["added_tokens"]:
        token["id"] = data["model"]["vocab"][token["content"]]
    data["post_processor"] = None  # it names pieces by number, and is not used
    rows = torch.tensor([i for _, i in kept])
    network, config = model.formnet, model.config
    padding = data["model"]["vocab"][tokenizer.id_to_token(config.pad_token_id)]
    network.pieces = nn.Embedding.from_pretrained(
        network.pieces.weight.detach()[rows], freeze=False, padding_idx=padding
    )
    config.vocab_size, config.pad_token_id = len(kept), padding
    return Tokenizer.from_str(json.dumps(data))
