"""Which weights learn how fast."""

import re
from collections import defaultdict
from collections.abc import Collection
from typing import Any

from torch import nn

from formnet.errors import SettingsError
from formnet.training.config import Optimization

#: What attention knows of places, and how far super-tokens are open. These few numbers start neutral, and their scale
#: is one, not that of a matrix's entries: at a matrix's learning rate they would never get anywhere.
_LAYOUT = re.compile(r"\.rich\.|\.to_global$|\.gate$")
_LAYER = re.compile(r"^formnet\.layers\.(\d+)\.")
#: Numbers by head, which stand in a table but are no matrix.
_BY_HEAD = re.compile(r"\.rich\.(bias|sharpness)$")


def parameter_groups(
    model: nn.Module, settings: Optimization, layers: int, new: Collection[str]
) -> list[dict[str, Any]]:
    """Group weights by learning rate and decay: AdamW's argument.

    Biases, norms and single numbers do not decay. Weights named in `new` learn at their own rate; what the start
    brought learns the slower the further it is from the top, if asked.
    """
    groups: dict[tuple[float, float], list[nn.Parameter]] = defaultdict(list)
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            decay = settings.weight_decay if parameter.dim() > 1 and not _BY_HEAD.search(name) else 0.0
            groups[_rate(name, settings, layers, new), decay].append(parameter)
    return [
        {"params": parameters, "lr": rate, "weight_decay": decay}
        for (rate, decay), parameters in sorted(groups.items(), key=lambda item: item[0])
    ]


def _rate(name: str, settings: Optimization, layers: int, new: Collection[str]) -> float:
    if settings.layout_learning_rate is not None and _LAYOUT.search(name):
        return settings.layout_learning_rate
    if settings.new_learning_rate is not None and name in new:
        return settings.new_learning_rate
    if not name.startswith("formnet."):
        return settings.learning_rate
    layer = _LAYER.search(name)
    below_top = layers - 1 - int(layer[1]) if layer else layers
    return settings.learning_rate * settings.layer_decay**below_top


def freeze(model: nn.Module, beginnings: Collection[str]) -> None:
    """Keep weights as they are, by the beginning of their names."""
    names = {name for name, _ in model.named_parameters()}
    for beginning in beginnings:
        if not any(name.startswith(beginning) for name in names):
            raise SettingsError(f"optimization.frozen: no weight is called {beginning!r}…; try formnet.pieces.")
    for name, parameter in model.named_parameters():
        if name.startswith(tuple(beginnings)):
            parameter.requires_grad_(False)
