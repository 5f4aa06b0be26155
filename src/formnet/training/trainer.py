"""transformers' Trainer with our batches, our groups of weights and our look at what was held out."""

import atexit
import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import torch
from torch import Tensor, distributed
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from formnet.training.config import Run
from formnet.training.initialization import InitializedModel
from formnet.training.optimizer import freeze, parameter_groups
from formnet.training.progress import Progress
from formnet.training.run_directory import last_checkpoint

EvalFn = Callable[[PreTrainedModel], dict[str, float]]


class FormNetTrainer(Trainer):
    """Trains on batches as they come; every so often `look` says how well it goes."""

    def __init__(
        self, run: Run, begun: InitializedModel[Any], batches: "DataLoader[Any]", look: EvalFn | None, **arguments: Any
    ):
        freeze(begun.model, run.optimization.frozen)
        # There is nothing to evaluate on but what `look` has, which Trainer need not know.
        super().__init__(begun.model, _arguments(run, look is not None, **arguments), eval_dataset={})
        self.run_settings, self.batches, self.look, self.new = run, batches, look, begun.new
        self.carried: tuple[float, int] | None = None  # loss not logged yet, and the step since which
        self.remove_callback(ProgressCallback)
        self.remove_callback(PrinterCallback)
        self.add_callback(Progress())
        self.add_callback(SaveByTime(run.save_minutes))

    def get_train_dataloader(self) -> "DataLoader[Any]":
        """Give the batches as they are: they are already this process's own."""
        return self.batches

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Make AdamW over groups of weights."""
        if self.optimizer is None:
            settings, network = self.run_settings.optimization, model
            assert isinstance(self.model, PreTrainedModel)
            groups = parameter_groups(network or self.model, settings, self.model.config.num_hidden_layers, self.new)
            self.optimizer = torch.optim.AdamW(
                groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, fused=True
            )
        return self.optimizer

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """EvalFn at what was held out."""
        assert self.look is not None
        assert isinstance(self.model, PreTrainedModel)
        metrics = {f"eval_{name}": value for name, value in self.look(self.model).items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _maybe_log_save_evaluate(self, tr_loss: Tensor, *arguments: Any, **options: Any) -> None:
        """Go on adding up the loss for the next line of the log where the checkpoint was in the midst of it."""
        if self.carried is not None:
            (loss, self._globalstep_last_logged), self.carried = self.carried, None
            tr_loss += loss
            self._total_loss_scalar -= loss  # which is of the steps since
        super()._maybe_log_save_evaluate(tr_loss, *arguments, **options)

    def _save_checkpoint(self, *arguments: Any) -> None:
        """Write down beside it what was not logged yet."""
        folder = self.run_settings.output / f"checkpoint-{self.state.global_step}"
        folder.mkdir(parents=True, exist_ok=True)
        unlogged = float(self._tr_loss), self._globalstep_last_logged
        _unlogged_file(folder).write_text(json.dumps(unlogged), encoding="utf-8")
        super()._save_checkpoint(*arguments)

    def _save_rng_state(self, output_dir: str) -> None:
        """Wait until all have written theirs: what is written next says that the checkpoint is whole."""
        super()._save_rng_state(output_dir)
        wait_for_all()

    def run(self, *, resume: bool) -> None:
        """Train, from the last checkpoint if there is one and it is wanted, and leave the folder whole."""
        atexit.register(leave_group)
        last = last_checkpoint(self.run_settings.output) if resume else None
        if last is not None:
            self.carried = _read_unlogged(last)
        self.train(resume_from_checkpoint=None if last is None else str(last))
        self.save_model()
        self.save_state()
        wait_for_all()  # one that ended now, or read on, would do so before the first has written all


def _unlogged_file(checkpoint: Path) -> Path:
    """Name the file for this process: each has losses of its own."""
    return checkpoint / f"unlogged-{this_process()[0]}.json"


def _read_unlogged(checkpoint: Path) -> tuple[float, int] | None:
    with suppress(OSError, ValueError):
        loss, since = json.loads(_unlogged_file(checkpoint).read_text(encoding="utf-8"))
        return float(loss), int(since)
    return None


class SaveByTime(TrainerCallback):
    """Asks for a checkpoint when so many minutes have passed: a kill costs no more than that."""

    def __init__(self, minutes: float) -> None:
        self.seconds, self.last = minutes * 60, monotonic()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Save if it is time."""
        due = monotonic() - self.last >= self.seconds
        if in_group():  # all at one step, by the first one's clock
            said = torch.tensor(int(due), device=args.device)
            distributed.broadcast(said, 0)
            due = bool(said)
        if due:
            control.should_save, self.last = True, monotonic()
        return control


def _arguments(run: Run, looks: bool, **more: Any) -> TrainingArguments:
    settings = run.optimization
    arguments = TrainingArguments(
        output_dir=str(run.output),
        seed=run.seed,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup" if settings.schedule == "constant" else settings.schedule,
        warmup_steps=settings.warm_up,
        max_grad_norm=settings.clip,
        gradient_accumulation_steps=settings.accumulate,
        gradient_checkpointing=settings.checkpoint_layers,
        bf16=settings.bf16,
        use_cpu=not torch.accelerator.is_available(),
        eval_strategy="steps" if looks else "no",
        save_strategy="no",  # by time instead
        save_total_limit=run.keep_checkpoints,
        logging_strategy="steps",
        remove_unused_columns=False,
        disable_tqdm=True,
        **{"report_to": "tensorboard", **more},
    )
    if arguments.n_gpu > 1:  # several are for torchrun; in one process they would share out batches, and losses wrongly
        arguments._n_gpu = 1
    return arguments


def batches_of(dataset: Any, **arguments: Any) -> "DataLoader[Any]":
    """Read batches in this process; a second reader would take a core from the network."""
    # Reading has a generator of its own: the one that dropout uses must stand where the last checkpoint left it.
    return DataLoader(dataset, num_workers=0, generator=torch.Generator(), **arguments)


def this_process() -> tuple[int, int]:
    """Tell which process of how many this is, as torchrun says."""
    return int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))


def in_group() -> bool:
    """Tell whether this process trains with others."""
    return distributed.is_available() and distributed.is_initialized()


def wait_for_all() -> None:
    """Go on when all processes have come here."""
    if in_group():
        distributed.barrier()


def leave_group() -> None:
    """Untie this process from the others; left to the interpreter's end, their threads may abort it."""
    if in_group():
        distributed.destroy_process_group()


def limit_threads(threads: int | None) -> None:
    """Use so many cores."""
    if threads is not None:
        torch.set_num_threads(threads)
