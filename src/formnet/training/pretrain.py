"""Pre-training a masked language model on unlabeled pages (Section 4.2 of the paper)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import set_seed

from formnet.document import Document
from formnet.encoding import Encoder, buckets
from formnet.errors import SettingsError
from formnet.modeling import FormNetForMaskedLM
from formnet.training.config import PreTraining
from formnet.training.initialization import initialize
from formnet.training.masked_lm import Masker, PageStream, masked_batch
from formnet.training.page_split import split_pages
from formnet.training.run_directory import claim_run_directory, last_checkpoint, read_state
from formnet.training.sampling import TensorBatch
from formnet.training.trainer import (
    EvalFn,
    FormNetTrainer,
    limit_threads,
    make_dataloader,
    process_count,
    process_rank,
)

#: Pages that were not trained on, with reasons.
LEFT_OUT = "left_out.json"


def pretrain(run: PreTraining, *, resume: bool = True) -> dict[str, Any]:
    """Train, write a checkpoint for fine-tuning to `run.output`, and return the loss curve.

    With `resume`, a finished run is not trained again.
    """
    rank, num_processes = process_rank(), process_count()
    state = read_state(run.output)
    if resume and state is not None and state["global_step"] >= run.steps:
        if rank == 0:
            claim_run_directory(run, resume=True)
        return loss_curve(run, state["log_history"])
    missing = [str(file) for file in run.pages if not file.is_file()]
    if missing:
        raise SettingsError(f"pages: {', '.join(missing)} not found. Check the paths.")
    limit_threads(run.threads)
    set_seed(run.seed)
    initialized = initialize(run.init, run.optimization, FormNetForMaskedLM)
    tokenizer = initialized.tokenizer
    encoder, masker = Encoder(tokenizer), Masker(tokenizer, run.mlm_probability, whole_words=run.whole_words)
    split = split_pages(run.pages, run.held_out_pages, run.exclude)
    stream = PageStream(
        run.pages,
        encoder,
        masker,
        run.optimization.max_batch_tokens,
        run.optimization.max_batch_documents,
        seed=run.seed,
        shuffle_buffer=run.shuffle_buffer,
        left_out=[(page.file, page.page) for page in split.left_out],
        rank=rank,
        num_processes=num_processes,
    )
    if rank == 0:
        claim_run_directory(run, resume=resume, origin={"processes": num_processes})
        tokenizer.save(str(run.output / "tokenizer.json"))
        (run.output / LEFT_OUT).write_text(json.dumps(split.to_json(), indent=1), encoding="utf-8")
    done = completed_steps(run.output) if resume else 0
    stream.skip_batches = done * run.optimization.gradient_accumulation_steps
    trainer = FormNetTrainer(
        run,
        initialized,
        make_dataloader(stream, batch_size=None),
        _make_eval_fn(split.held_out, encoder, masker, run) if split.held_out else None,
        max_steps=run.steps,
        ignore_data_skip=True,  # the stream skips them itself
        eval_steps=run.eval_every,
        logging_steps=min(50, run.eval_every),
    )
    trainer.run(resume=resume)
    return loss_curve(run, trainer.state.log_history)


def loss_curve(run: PreTraining, history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the training loss, and the loss and accuracy on held-out pages, by step."""
    return {
        "steps": run.steps,
        "training": [{"step": entry["step"], "loss": entry["loss"]} for entry in history if "loss" in entry],
        "held_out": [
            {"step": entry["step"], "loss": entry["eval_loss"], "accuracy": entry["eval_accuracy"]}
            for entry in history
            if "eval_loss" in entry
        ],
    }


def completed_steps(output: Path) -> int:
    """Return the number of steps of the last checkpoint."""
    checkpoint = last_checkpoint(output)
    state = None if checkpoint is None else read_state(checkpoint)
    return 0 if state is None else int(state["global_step"])


def _make_eval_fn(held_out: Sequence[Document], encoder: Encoder, masker: Masker, run: PreTraining) -> EvalFn:
    """Return a function that evaluates on the held-out pages, with the same tokens masked each time."""
    pages = [encoder(page) for page in held_out]
    generator = np.random.default_rng(run.seed)
    groups = buckets([len(page) for page in pages], run.optimization.max_batch_tokens)
    batches = [masked_batch([pages[i] for i in group], masker, generator, encoder) for group in groups]

    def evaluate(model: torch.nn.Module) -> dict[str, float]:
        return evaluate_masked_lm(model, batches, bf16=run.optimization.bf16)

    return evaluate


@torch.no_grad()
def evaluate_masked_lm(model: torch.nn.Module, batches: Sequence[TensorBatch], *, bf16: bool) -> dict[str, float]:
    """Compute mean loss and accuracy over the predicted tokens."""
    was_training, device = model.training, next(model.parameters()).device
    model.eval()
    loss, correct, total = 0.0, 0, 0
    for batch in batches:
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            result = model(**{name: tensor.to(device) for name, tensor in batch.items()})
        labels = batch["labels"][batch["labels"] >= 0]
        loss += float(result.loss) * len(labels)
        correct += int((result.logits.argmax(-1).cpu() == labels).sum())
        total += len(labels)
    model.train(was_training)
    return {"loss": loss / max(total, 1), "accuracy": correct / max(total, 1)}
