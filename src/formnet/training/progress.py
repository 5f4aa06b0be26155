"""What a person sees of a run: a bar with loss and scores on a terminal, plain lines in a log."""

import sys
from time import perf_counter
from typing import Any

from tqdm.auto import tqdm
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

_SHOWN = ("loss", "eval_f1", "eval_loss", "eval_accuracy")


class Progress(TrainerCallback):
    """Shows steps, loss and the last look at the held-out part."""

    def __init__(self) -> None:
        self.bar: Any = None
        self.shown: dict[str, str] = {}
        self.began = perf_counter()

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Begin."""
        self.began = perf_counter()
        if state.is_world_process_zero and sys.stderr.isatty():
            self.bar = tqdm(total=state.max_steps, initial=state.global_step, dynamic_ncols=True, unit="step")

    def on_step_end(self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any) -> None:
        """Go on."""
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
        """Show what is new."""
        if not state.is_world_process_zero or not logs:
            return
        self.shown |= {name.removeprefix("eval_"): f"{logs[name]:.4f}" for name in _SHOWN if name in logs}
        if self.bar is not None:
            self.bar.set_postfix(self.shown)
            return
        values = "  ".join(f"{name.removeprefix('eval_')} {logs[name]:.4f}" for name in _SHOWN if name in logs)
        if values:
            minutes = (perf_counter() - self.began) / 60
            print(
                f"step {state.global_step}/{state.max_steps}  {minutes:.1f} min  {values}", file=sys.stderr, flush=True
            )

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """End."""
        if self.bar is not None:
            self.bar.close()
