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


def main(vocabulary: str, output: str, world: int) -> None:
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


if __name__ == "__main__":
    main(*sys.argv[1:], world=int(os.environ["WORLD_SIZE"]))
