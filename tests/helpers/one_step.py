"""One step of each kind of training on the examples, under torchrun: the first process writes down the gradients."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback

import formnet.training.finetune as finetune
import formnet.training.pretrain as pretrain
from formnet.training.config import FineTuning, PreTraining, make_settings
from formnet.training.masked_lm import Masker
from formnet.training.trainer import FormNetTrainer

EXAMPLES = Path(__file__).parents[2] / "examples/documents.jsonl"
STILL = {"hidden_dropout_prob": 0.0, "classifier_dropout": 0.0, "attention_backend": "blocked"}
KINDS = ("words", "paths", "pages")


class WriteDown(TrainerCallback):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_pre_optimizer_step(self, *_: Any, model: Any = None, **__: Any) -> None:
        if int(os.environ["RANK"]) == 0:
            gradients = {name.removeprefix("module."): p.grad for name, p in model.named_parameters()}
            torch.save(gradients, self.folder / "gradients.pt")


class OneStep(FormNetTrainer):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.add_callback(WriteDown(self.run_settings.output))


class SameEverywhere(Masker):
    """Hides the same words of a page in whichever process."""

    def __call__(self, document: Any, _: Any) -> Any:
        return super().__call__(document, np.random.default_rng(len(document)))


def main(vocabulary: str, output: str, world: int) -> None:
    finetune.FormNetTrainer = pretrain.FormNetTrainer = OneStep  # type: ignore[misc]
    pretrain.Masker = SameEverywhere  # type: ignore[misc]
    # The same two documents in one step, whether one process has both or each has one.
    optimization = {"max_batch_tokens": 100_000, "bf16": False, "clip": 0}
    for kind in KINDS:
        changes = {**STILL, "loss_on_paths": kind == "paths"}
        run = {"start": {"size": "tiny", "tokenizer": vocabulary, "changes": changes}, "output": f"{output}/{kind}"}
        if kind == "pages":
            # One after the other in one process.
            alone = {"shuffle": 1, "optimization": {**optimization, "accumulate": 2 // world}}
            pretrain.pretrain(make_settings(PreTraining, {**run, **alone, "pages": [EXAMPLES], "steps": 1}, kind))
        else:
            together = {"epochs": 1, "optimization": {**optimization, "batch_documents": 2 // world}}
            finetune.finetune(make_settings(FineTuning, {**run, **together, "corpus": f"jsonl:{EXAMPLES}"}, kind))


if __name__ == "__main__":
    main(*sys.argv[1:], world=int(os.environ["WORLD_SIZE"]))
