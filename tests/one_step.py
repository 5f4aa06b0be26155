"""One step of training on the examples, under torchrun: the first process writes down the gradients."""

import os
import sys
from pathlib import Path
from typing import Any

import torch
from transformers import TrainerCallback

import formnet.training.finetune as finetune
from formnet.training.settings import FineTuning, make_settings
from formnet.training.trainer import FormNetTrainer

vocabulary, output = sys.argv[1:]
world = int(os.environ["WORLD_SIZE"])


class WriteDown(TrainerCallback):
    def on_pre_optimizer_step(self, *_: Any, model: Any = None, **__: Any) -> None:
        if int(os.environ["RANK"]) == 0:
            gradients = {name.removeprefix("module."): p.grad for name, p in model.named_parameters()}
            Path(output).mkdir(parents=True, exist_ok=True)
            torch.save(gradients, Path(output) / "gradients.pt")


class OneStep(FormNetTrainer):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.add_callback(WriteDown())


run = make_settings(
    FineTuning,
    {
        "corpus": f"jsonl:{Path(__file__).parent.parent / 'examples/documents.jsonl'}",
        "start": {
            "size": "tiny",
            "tokenizer": vocabulary,
            "changes": {"hidden_dropout_prob": 0.0, "classifier_dropout": 0.0, "attention_backend": "blocked"},
        },
        "output": output,
        "epochs": 1,
        # The same two documents in one step, whether one process has both or each has one.
        "optimisation": {"batch_pieces": 100_000, "batch_documents": 2 // world, "bf16": False, "clip": 0},
    },
    "test",
)
finetune.FormNetTrainer = OneStep  # type: ignore[misc]
finetune.finetune(run)
