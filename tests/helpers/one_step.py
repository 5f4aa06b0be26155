"""One optimizer step of each kind of training on the examples; the first process saves the gradients."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import TrainerCallback

import formnet.training.finetune as finetune
import formnet.training.pretrain as pretrain
from formnet.training.config import FineTuning, PreTraining, make_settings
from formnet.training.masked_lm import Masker
from formnet.training.trainer import FormNetTrainer, process_count, process_rank

EXAMPLES = Path(__file__).parents[2] / "examples/documents.jsonl"
NO_DROPOUT = {"hidden_dropout_prob": 0.0, "classifier_dropout": 0.0}
KINDS = ("token", "crf", "masked_lm")


class SaveGradients(TrainerCallback):
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def on_pre_optimizer_step(self, *_: Any, model: Any = None, **__: Any) -> None:
        if process_rank() == 0:
            gradients = {name.removeprefix("module."): p.grad for name, p in model.named_parameters()}
            torch.save(gradients, self.folder / "gradients.pt")


class GradientTrainer(FormNetTrainer):
    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.add_callback(SaveGradients(self.run_settings.output))


class FixedMasker(Masker):
    """Masks the same words of a page in every process."""

    def __call__(self, document: Any, _: Any) -> Any:
        return super().__call__(document, np.random.default_rng(len(document)))


def main(vocabulary: str, output: str) -> None:
    """Run in a process of its own: it replaces classes of the training modules."""
    torch.set_num_threads(1)
    finetune.FormNetTrainer = pretrain.FormNetTrainer = GradientTrainer  # type: ignore[misc]
    pretrain.Masker = FixedMasker  # type: ignore[misc]
    # One step covers the same two documents, both in one process or one in each of two.
    per_process = 2 // process_count()
    optimization = {"max_batch_tokens": 100_000, "bf16": False, "compile": False, "max_grad_norm": 0}
    for kind in KINDS:
        run = {
            "init": {"size": "tiny", "tokenizer": vocabulary, "overrides": NO_DROPOUT},
            "output": f"{output}/{kind}",
        }
        if kind == "masked_lm":
            steps = {"gradient_accumulation_steps": per_process}
            own = {"pages": [EXAMPLES], "steps": 1, "shuffle_buffer": 1, "optimization": {**optimization, **steps}}
            pretrain.pretrain(make_settings(PreTraining, {**run, **own}, kind))
        else:
            batch = {"max_batch_documents": per_process}
            own = {"corpus": f"jsonl:{EXAMPLES}", "epochs": 1, "loss": kind, "optimization": {**optimization, **batch}}
            finetune.finetune(make_settings(FineTuning, {**run, **own}, kind))
