"""Pre-training a masked language model on unlabeled pages (Section 4.2 of the paper)."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import set_seed

from formnet.document import Document
from formnet.document.reading_order import Order, reorder
from formnet.encoding import EncodedDocument, Encoder, buckets
from formnet.encoding.graph_edits import GRAPH_EDITS, edit_graph
from formnet.errors import SettingsError
from formnet.modeling import FormNetForMaskedLM
from formnet.training.config import PreTraining
from formnet.training.hidden_positions import FormNetForHiddenPositions
from formnet.training.initialization import initialize
from formnet.training.masked_lm import Masker, masked_batch
from formnet.training.page_split import PageSplit, copy_words, split_pages
from formnet.training.page_stream import PageStream
from formnet.training.run_directory import HELD_OUT, claim_run_directory, last_checkpoint, read_state
from formnet.training.sampling import TensorBatch
from formnet.training.trainer import (
    FormNetTrainer,
    limit_threads,
    make_dataloader,
    process_count,
    process_rank,
)


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
    if len({file.name for file in run.pages}) < len(run.pages):
        raise SettingsError("pages: two files have the same name. Rename one.")
    limit_threads(run.threads)
    set_seed(run.seed)
    network = FormNetForHiddenPositions if run.hidden_positions else FormNetForMaskedLM
    initialized = initialize(run.init, run.optimization, network)
    tokenizer = initialized.tokenizer
    encoder = Encoder(tokenizer, segments=initialized.model.config.segments)
    masker = Masker(tokenizer, run.mlm_probability, whole_words=run.whole_words)
    checkpoint = last_checkpoint(run.output) if resume else None
    if rank == 0:
        claim_run_directory(run, resume=resume, origin={"processes": num_processes})
    files = [*run.pages, *copy_words(run.corpora, run.output, reuse=checkpoint is not None)]
    split = split_pages(files, run.held_out_pages, run.exclude) if checkpoint is None else PageSplit.load(run.output)
    stream = PageStream(
        files,
        encoder,
        masker,
        run.optimization.max_batch_tokens,
        run.optimization.max_batch_documents,
        seed=run.seed,
        shuffle_buffer=run.shuffle_buffer,
        left_out=[(page.file, page.page) for page in split.left_out],
        rank=rank,
        num_processes=num_processes,
        raster=run.raster,
        shuffled=run.shuffled,
        hidden_positions=run.hidden_positions,
    )
    if rank == 0:
        tokenizer.save(str(run.output / "tokenizer.json"))
        split.save(run.output)
    if checkpoint is not None:
        stream.resume(checkpoint, completed_steps(checkpoint) * run.optimization.gradient_accumulation_steps)
    held_out = HeldOutPages(
        split.held_out,
        encoder,
        masker,
        orders=run.eval_orders,
        max_batch_tokens=run.optimization.max_batch_tokens,
        seed=run.seed,
        bf16=run.optimization.bf16,
    )
    trainer = FormNetTrainer(
        run,
        initialized,
        make_dataloader(stream, batch_size=None),
        held_out.evaluate if split.held_out else None,
        save_extra=stream.save_positions,
        max_steps=run.steps,
        ignore_data_skip=True,  # the stream skips them itself
        eval_steps=run.eval_every,
        logging_steps=min(50, run.eval_every),
    )
    trainer.run(resume=resume)
    if rank == 0 and split.held_out and initialized.model.config.super_tokens:
        use = held_out.graph_use(initialized.model)
        (run.output / HELD_OUT).write_text(json.dumps({"graph_use": use}, indent=1), encoding="utf-8")
    return loss_curve(run, trainer.state.log_history)


def loss_curve(run: PreTraining, history: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the training loss, loss and accuracy on held-out pages by step, and the scores with the graph edited."""
    suffixes = ["", *(f"_{order}" for order in run.eval_orders[1:])]
    names = [f"{name}{suffix}" for suffix in suffixes for name in ("loss", "accuracy")]
    file = run.output / HELD_OUT
    return {
        "steps": run.steps,
        "training": [{"step": entry["step"], "loss": entry["loss"]} for entry in history if "loss" in entry],
        "held_out": [
            {"step": entry["step"], **{name: entry[f"eval_{name}"] for name in names}}
            for entry in history
            if "eval_loss" in entry
        ],
        **(json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}),
    }


def completed_steps(checkpoint: Path) -> int:
    """Return the number of steps of a checkpoint."""
    state = read_state(checkpoint)
    return 0 if state is None else int(state["global_step"])


class HeldOutPages:
    """Held-out pages, with the same tokens masked in each evaluation."""

    def __init__(
        self,
        pages: Sequence[Document],
        encoder: Encoder,
        masker: Masker,
        *,
        orders: Sequence[Order] = ("given",),
        max_batch_tokens: int,
        seed: int,
        bf16: bool,
    ) -> None:
        self.encoder, self.masker = encoder, masker
        self.max_batch_tokens, self.seed, self.bf16 = max_batch_tokens, seed, bf16
        self.pages = {order: [encoder(reorder(page, order)) for page in pages] for order in orders}
        self.batches = {order: self._batches(encoded) for order, encoded in self.pages.items()}

    def evaluate(self, model: torch.nn.Module) -> dict[str, float]:
        """Return loss and accuracy in the first reading order, and under names with the order in all others."""
        first, *others = self.batches
        results = self._evaluate(model, self.batches[first])
        for order in others:
            scores = self._evaluate(model, self.batches[order])
            results |= {f"{name}_{order}": value for name, value in scores.items()}
        return results

    def graph_use(self, model: torch.nn.Module) -> dict[str, dict[str, float]]:
        """Return loss and accuracy in the first reading order with the graph as it is, and with each edit."""
        pages, batches = next(iter(self.pages.values())), next(iter(self.batches.values()))
        edited = {edit: self._batches([edit_graph(page, edit) for page in pages]) for edit in GRAPH_EDITS}
        return {name: self._evaluate(model, part) for name, part in [("as_is", batches), *edited.items()]}

    def _batches(self, pages: Sequence[EncodedDocument]) -> list[TensorBatch]:
        generator = np.random.default_rng(self.seed)
        groups = buckets([len(page) for page in pages], self.max_batch_tokens)
        return [masked_batch([pages[i] for i in group], self.masker, generator, self.encoder) for group in groups]

    def _evaluate(self, model: torch.nn.Module, batches: Sequence[TensorBatch]) -> dict[str, float]:
        return evaluate_masked_lm(model, batches, bf16=self.bf16)


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
