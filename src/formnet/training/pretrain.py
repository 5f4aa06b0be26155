"""Pre-training: a masked language model over unlabeled pages (Section 4.2 of the paper)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import set_seed

from formnet.encoding import Encoder, buckets
from formnet.errors import SettingsError
from formnet.modeling import FormNetForMaskedLM
from formnet.training.config import PreTraining
from formnet.training.initialization import load_start
from formnet.training.masked_lm import Masker, PageStream, masked_batch
from formnet.training.run_directory import claim_run_directory, last_checkpoint, read_state
from formnet.training.sampling import TensorBatch
from formnet.training.trainer import EvalFn, FormNetTrainer, batches_of, limit_threads, this_process


def pretrain(run: PreTraining, *, resume: bool = True) -> dict[str, Any]:
    """Train, leave in `run.output` what fine-tuning starts from, and give the curve; what is over is left so."""
    rank, world = this_process()
    state = read_state(run.output)
    if resume and state is not None and state["global_step"] >= run.steps:
        if rank == 0:
            claim_run_directory(run, resume=True)
        return curve(run, state["log_history"])
    missing = [str(file) for file in run.pages if not file.is_file()]
    if missing:
        raise SettingsError(f"pages: there is no {', '.join(missing)}.")
    limit_threads(run.threads)
    set_seed(run.seed)
    begun = load_start(run.start, FormNetForMaskedLM)
    tokenizer = begun.tokenizer
    encoder, masker = Encoder(tokenizer), Masker(tokenizer, run.mask, whole_words=run.whole_words)
    stream = PageStream(
        run.pages,
        encoder,
        masker,
        run.optimization.max_batch_tokens,
        run.optimization.batch_documents,
        seed=run.seed,
        shuffle=run.shuffle,
        held_out=run.held_out_pages,
        rank=rank,
        world=world,
    )
    if rank == 0:
        claim_run_directory(run, resume=resume, origin={"processes": world})
        tokenizer.save(str(run.output / "tokenizer.json"))
    stream.passed = (steps_done(run.output) if resume else 0) * run.optimization.accumulate
    trainer = FormNetTrainer(
        run,
        begun,
        batches_of(stream, batch_size=None),
        look_at_pages(stream, masker, run) if run.held_out_pages else None,
        max_steps=run.steps,
        ignore_data_skip=True,  # the stream passes over what was seen
        eval_steps=run.look_every,
        logging_steps=min(50, run.look_every),
    )
    trainer.run(resume=resume)
    return curve(run, trainer.state.log_history)


def curve(run: PreTraining, history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Give what a run saw as it went: the loss on pages trained on, and loss and accuracy on pages held out."""
    return {
        "steps": run.steps,
        "training": [{"step": at["step"], "loss": at["loss"]} for at in history if "loss" in at],
        "held_out": [
            {"step": at["step"], "loss": at["eval_loss"], "accuracy": at["eval_accuracy"]}
            for at in history
            if "eval_loss" in at
        ],
    }


def steps_done(output: Path) -> int:
    """Tell how many steps the last checkpoint has behind it."""
    last = last_checkpoint(output)
    state = None if last is None else read_state(last)
    return 0 if state is None else int(state["global_step"])


def look_at_pages(stream: PageStream, masker: Masker, run: PreTraining) -> EvalFn:
    """Give the loss and the share guessed right on pages held out, always with the same pieces hidden."""
    pages = [stream.encoder(page) for page in stream.held_out_pages()]
    generator = np.random.default_rng(run.seed)
    plan = buckets([len(page) for page in pages], run.optimization.max_batch_tokens)
    batches = [masked_batch([pages[i] for i in part], masker, generator, stream.encoder) for part in plan]

    def look(model: torch.nn.Module) -> dict[str, float]:
        return guess(model, batches, bf16=run.optimization.bf16)

    return look


@torch.no_grad()
def guess(model: torch.nn.Module, batches: Sequence[TensorBatch], *, bf16: bool) -> dict[str, float]:
    """Let the network say what is hidden: mean loss and accuracy over pieces."""
    was_training, device = model.training, next(model.parameters()).device
    model.eval()
    loss, right, asked = 0.0, 0, 0
    for batch in batches:
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            result = model(**{name: tensor.to(device) for name, tensor in batch.items()})
        labels = batch["labels"][batch["labels"] >= 0]
        loss += float(result.loss) * len(labels)
        right += int((result.logits.argmax(-1).cpu() == labels).sum())
        asked += len(labels)
    model.train(was_training)
    return {"loss": loss / max(asked, 1), "accuracy": right / max(asked, 1)}
