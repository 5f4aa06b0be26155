"""transformers' Trainer with our batches, parameter groups, evaluation and exact resumption."""

import atexit
import json
import os
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import torch
from torch import Tensor, distributed
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, Trainer, TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_callback import PrinterCallback, ProgressCallback

from formnet.training.averaging import AveragedWeights
from formnet.training.config import Run
from formnet.training.initialization import InitializedModel
from formnet.training.optimizer import freeze, parameter_groups
from formnet.training.progress import Progress
from formnet.training.run_directory import last_checkpoint

#: The name of this argument since transformers 5.23, and before.
_CHECKPOINTING = (
    "activation_checkpointing"
    if "activation_checkpointing" in TrainingArguments.__dataclass_fields__
    else "gradient_checkpointing"
)

EvalFn = Callable[[PreTrainedModel], dict[str, float]]


class FormNetTrainer(Trainer):
    """Trains on the batches of a data loader and evaluates with `eval_fn` at regular intervals.

    `save_extra` writes more files to each checkpoint, before the file that marks it as complete.
    """

    def __init__(
        self,
        run: Run,
        initialized: InitializedModel[Any],
        dataloader: "DataLoader[Any]",
        eval_fn: EvalFn | None,
        save_extra: Callable[[Path], None] | None = None,
        **arguments: Any,
    ):
        freeze(initialized.model, run.optimization.frozen)
        # Trainer requires an evaluation dataset; ours is inside `eval_fn`.
        super().__init__(initialized.model, _arguments(run, eval_fn is not None, **arguments), eval_dataset={})
        self.run_settings, self.dataloader, self.eval_fn, self.save_extra = run, dataloader, eval_fn, save_extra
        self.new_parameters = initialized.new_parameters
        decay = run.optimization.average_decay
        self.average = None if decay is None else AveragedWeights(initialized.model, decay)
        self.restored_loss: tuple[float, int] | None = None  # unlogged loss of a checkpoint, and the last logged step
        self.remove_callback(ProgressCallback)
        self.remove_callback(PrinterCallback)
        self.add_callback(Progress())
        if self.average is not None:
            self.add_callback(self.average)
        self.add_callback(SaveByTime(run.save_minutes))

    def get_train_dataloader(self) -> "DataLoader[Any]":
        """Return the data loader unchanged, since it already holds only this process's batches."""
        return self.dataloader

    def create_optimizer(self, model: Any = None) -> torch.optim.Optimizer:
        """Create AdamW with our parameter groups."""
        if self.optimizer is None:
            settings = self.run_settings.optimization
            assert isinstance(self.model, PreTrainedModel)
            layers = self.model.config.num_hidden_layers
            groups = parameter_groups(model or self.model, settings, layers, self.new_parameters)
            self.optimizer = torch.optim.AdamW(
                groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, fused=True
            )
        return self.optimizer

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Evaluate on the held-out documents."""
        assert self.eval_fn is not None
        assert isinstance(self.model, PreTrainedModel)
        with nullcontext() if self.average is None else self.average.applied():
            metrics = {f"eval_{name}": value for name, value in self.eval_fn(self.model).items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def _maybe_log_save_evaluate(self, tr_loss: Tensor, *arguments: Any, **options: Any) -> None:
        """Restore the accumulated loss first, if the checkpoint was saved between two log entries."""
        if self.restored_loss is not None:
            (loss, self._globalstep_last_logged), self.restored_loss = self.restored_loss, None
            tr_loss += loss
            self._total_loss_scalar -= loss  # the total covers only the steps since resuming
        super()._maybe_log_save_evaluate(tr_loss, *arguments, **options)

    def _save_checkpoint(self, *arguments: Any) -> None:
        """Save the accumulated loss that has not been logged yet with the checkpoint."""
        folder = self.run_settings.output / f"checkpoint-{self.state.global_step}"
        folder.mkdir(parents=True, exist_ok=True)
        unlogged = float(self._tr_loss), self._globalstep_last_logged
        _unlogged_loss_file(folder).write_text(json.dumps(unlogged), encoding="utf-8")
        if self.save_extra is not None:
            self.save_extra(folder)
        if self.average is not None and process_rank() == 0:
            self.average.save(folder)
        super()._save_checkpoint(*arguments)

    def _save_rng_state(self, output_dir: str) -> None:
        """Wait for all processes, because the file written next marks the checkpoint as complete."""
        super()._save_rng_state(output_dir)
        barrier()

    def run(self, *, resume: bool) -> None:
        """Train, from the last checkpoint if there is one and `resume` is set, and save the model."""
        atexit.register(destroy_process_group)
        checkpoint = last_checkpoint(self.run_settings.output) if resume else None
        if checkpoint is not None:
            self.restored_loss = _read_unlogged_loss(checkpoint)
            if self.average is not None:
                self.average.load(checkpoint)
        self.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        if self.average is not None:
            self.average.apply()
        self.save_model()
        self.save_state()
        barrier()  # other processes must not exit or read the files before the first has written them


def _unlogged_loss_file(checkpoint: Path) -> Path:
    """Return the file of this process; each process accumulates its own loss."""
    return checkpoint / f"unlogged-{process_rank()}.json"


def _read_unlogged_loss(checkpoint: Path) -> tuple[float, int] | None:
    with suppress(OSError, ValueError):
        loss, last_logged_step = json.loads(_unlogged_loss_file(checkpoint).read_text(encoding="utf-8"))
        return float(loss), int(last_logged_step)
    return None


class SaveByTime(TrainerCallback):
    """Saves a checkpoint every `minutes`, which bounds the work lost if the process is killed."""

    def __init__(self, minutes: float) -> None:
        self.seconds, self.last_save = minutes * 60, monotonic()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> TrainerControl:
        """Request a checkpoint if one is due."""
        is_due = monotonic() - self.last_save >= self.seconds
        if is_distributed():  # all processes must save at the same step: the first one decides
            flag = torch.tensor(int(is_due), device=args.device)
            distributed.broadcast(flag, 0)
            is_due = bool(flag)
        if is_due:
            control.should_save, self.last_save = True, monotonic()
        return control


def _arguments(run: Run, evaluates: bool, **more: Any) -> TrainingArguments:
    settings = run.optimization
    checkpointing: dict[str, Any] = {_CHECKPOINTING: True} if settings.gradient_checkpointing else {}
    arguments = TrainingArguments(
        output_dir=str(run.output),
        seed=run.seed,
        learning_rate=settings.learning_rate,
        lr_scheduler_type="constant_with_warmup" if settings.schedule == "constant" else settings.schedule,
        warmup_steps=settings.warmup_ratio,
        max_grad_norm=settings.max_grad_norm,
        gradient_accumulation_steps=settings.gradient_accumulation_steps,
        bf16=settings.bf16,
        use_cpu=not torch.accelerator.is_available(),
        eval_strategy="steps" if evaluates else "no",
        save_strategy="no",  # see SaveByTime
        save_total_limit=run.keep_checkpoints,
        logging_strategy="steps",
        remove_unused_columns=False,
        disable_tqdm=True,
        **{"report_to": "tensorboard", **checkpointing, **more},
    )
    # DataParallel would split batches and average losses wrongly; use torchrun for several GPUs.
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1
    return arguments


def make_dataloader(dataset: Any, **arguments: Any) -> "DataLoader[Any]":
    """Create a data loader that reads in this process; a worker process would compete for the CPU cores."""
    # Its own generator keeps the global one, which dropout uses, in the state that the checkpoint restored.
    return DataLoader(dataset, num_workers=0, generator=torch.Generator(), **arguments)


def process_rank() -> int:
    """Return the index of this process, as set by torchrun."""
    return int(os.environ.get("RANK", "0"))


def process_count() -> int:
    """Return the number of processes, as set by torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_distributed() -> bool:
    """Return whether this process belongs to a process group."""
    return distributed.is_available() and distributed.is_initialized()


def barrier() -> None:
    """Wait until all processes of the group reach this point."""
    if is_distributed():
        distributed.barrier()


def destroy_process_group() -> None:
    """Leave the process group before the interpreter exits, when its threads could abort the process."""
    if is_distributed():
        distributed.destroy_process_group()


def limit_threads(threads: int | None) -> None:
    """Set the number of CPU threads, if given."""
    if threads is not None:
        torch.set_num_threads(threads)
