"""Progress of a training run on stderr: a progress bar on a terminal, otherwise one line per log entry."""

import sys
from time import perf_counter
from typing import Any

from tqdm.auto import tqdm
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

_METRICS = ("loss", "eval_f1", "eval_loss", "eval_accuracy")


class Progress(TrainerCallback):
    """Shows the step, the training loss and the latest held-out metrics."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.metrics: dict[str, str] = {}
        self.start_time = perf_counter()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Open the progress bar."""
        self.start_time = perf_counter()
        if state.is_world_process_zero and sys.stderr.isatty():
            self.bar = tqdm(total=state.max_steps, initial=state.global_step, dynamic_ncols=True, unit="step")

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Advance the progress bar."""
        if self.bar is not None:
            self.bar.update(1)

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Show new metrics."""
        if not state.is_world_process_zero or not logs:
            return
        self.metrics |= {name.removeprefix("eval_"): f"{logs[name]:.4f}" for name in _METRICS if name in logs}
        if self.bar is not None:
            self.bar.set_postfix(self.metrics)
            return
        values = "  ".join(f"{name.removeprefix('eval_')} {logs[name]:.4f}" for name in _METRICS if name in logs)
        if values:
            minutes = (perf_counter() - self.start_time) / 60
            print(
                f"step {state.global_step}/{state.max_steps}  {minutes:.1f} min  {values}", file=sys.stderr, flush=True
            )

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Close the progress bar."""
        if self.bar is not None:
            self.bar.close()
