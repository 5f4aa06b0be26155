"""Parameter groups with their learning rates and weight decay, and frozen parameters."""

import re
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from torch import nn

from formnet.errors import SettingsError
from formnet.training.config import Optimization

#: Layout parameters of attention, and the gate of super-tokens. They are on the scale of one and start neutral, so the
#: learning rate of a weight matrix would hardly change them.
_LAYOUT = re.compile(r"\.rich\.|\.global_bias$|\.gate$")
_LAYER = re.compile(r"^formnet\.layers\.(\d+)\.")
#: Scalars per attention head, stored as a matrix.
_PER_HEAD = re.compile(r"\.rich\.(bias|theta)$")


def parameter_groups(
    model: nn.Module, settings: Optimization, layers: int, new_parameters: Collection[str]
) -> list[dict[str, Any]]:
    """Group parameters by learning rate and weight decay, for AdamW.

    Biases, norms and scalars have no weight decay. `new_parameters`, which are not from a checkpoint, have their own
    learning rate; that of the others decreases with the distance from the top layer by `layer_decay`.
    """
    names = [name for name, _ in model.named_parameters()]
    for part in settings.learning_rates:
        if not any(part in name for name in names):
            raise SettingsError(
                f"optimization.learning_rates: no parameter name contains {part!r}. Use one such as .edge."
            )
    groups: dict[tuple[float, float], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            decay = settings.weight_decay if parameter.dim() > 1 and not _PER_HEAD.search(name) else 0.0
            groups[_learning_rate(name, settings, layers, new_parameters), decay].append(parameter)
    return [
        {"params": parameters, "lr": rate, "weight_decay": decay}
        for (rate, decay), parameters in sorted(groups.items(), key=lambda item: item[0])
    ]


def _learning_rate(name: str, settings: Optimization, layers: int, new_parameters: Collection[str]) -> float:
    for part, rate in settings.learning_rates.items():
        if part in name:
            return rate
    if settings.layout_learning_rate is not None and _LAYOUT.search(name):
        return settings.layout_learning_rate
    if settings.new_learning_rate is not None and name in new_parameters:
        return settings.new_learning_rate
    if not name.startswith("formnet."):
        return settings.learning_rate
    layer = _LAYER.search(name)
    below_top = layers - 1 - int(layer[1]) if layer else layers
    return settings.learning_rate * settings.layer_decay**below_top


def freeze(model: nn.Module, prefixes: Collection[str]) -> None:
    """Freeze the parameters whose names start with one of the prefixes."""
    names = {name for name, _ in model.named_parameters()}
    for prefix in prefixes:
        if not any(name.startswith(prefix) for name in names):
            raise SettingsError(
                f"optimization.frozen: no parameter name starts with {prefix!r}. "
                "Use a prefix such as formnet.token_embeddings."
            )
    for name, parameter in model.named_parameters():
        if name.startswith(tuple(prefixes)):
            parameter.requires_grad_(False)
