"""Exponential moving average of the weights, which is evaluated and saved in place of the last ones."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from transformers import TrainerCallback, TrainerState

AVERAGES_NAME = "averages.safetensors"


class AveragedWeights(TrainerCallback):
    """Averages the parameters that are trained over about the last 1 / (1 − `decay`) steps."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.parameters = {name: p for name, p in model.named_parameters() if p.requires_grad}
        self.averages: dict[str, Tensor] = {}

    @torch.no_grad()
    def on_step_end(self, *arguments: Any, **_: Any) -> None:
        """Update the averages."""
        state: TrainerState = arguments[1]
        if not self.averages:
            self.averages = {name: p.detach().clone() for name, p in self.parameters.items()}
        # At first, about the last tenth of the steps counts, so that the initial weights are soon forgotten.
        decay = min(self.decay, state.global_step / (state.global_step + 10))
        for name, average in self.averages.items():
            average.lerp_(self.parameters[name], 1 - decay)

    @torch.no_grad()
    def apply(self) -> None:
        """Set the parameters to their averages."""
        for name, average in self.averages.items():
            self.parameters[name].copy_(average)

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Set the parameters to their averages in a `with` block."""
        last = {name: self.parameters[name].detach().clone() for name in self.averages}
        self.apply()
        try:
            yield
        finally:
            with torch.no_grad():
                for name, value in last.items():
                    self.parameters[name].copy_(value)

    def save(self, checkpoint: Path) -> None:
        """Write the averages to a checkpoint."""
        save_file(self.averages, checkpoint / AVERAGES_NAME)

    def load(self, checkpoint: Path) -> None:
        """Read the averages of a checkpoint."""
        stored = load_file(checkpoint / AVERAGES_NAME)
        self.averages = {name: stored[name].to(p.device) for name, p in self.parameters.items()}
