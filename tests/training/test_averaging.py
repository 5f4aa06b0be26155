"""Averages of the weights during training."""

import json
from pathlib import Path

import pytest
import torch
from torch import nn
from transformers import TrainerState

from formnet.modeling import FormNetForTokenClassification
from formnet.training.averaging import AveragedWeights
from formnet.training.finetune import finetune
from small_runs import small_run


def test_averaged_weights_weigh_later_steps_more() -> None:
    layer = nn.Linear(1, 1, bias=False)
    average = AveragedWeights(layer, 0.5)
    for step, value in enumerate((1.0, 2.0, 4.0, 8.0), start=1):
        nn.init.constant_(layer.weight, value)
        average.on_step_end(None, TrainerState(global_step=step), None)
    # With decays of 1/11, 2/12, 3/13 and 4/14, all below 0.5.
    expected = 1.0
    for step, value in ((2, 2.0), (3, 4.0), (4, 8.0)):
        expected += (value - expected) * 10 / (step + 10)
    with average.applied():
        assert layer.weight.item() == pytest.approx(expected)
    assert layer.weight.item() == 8


def test_finetune_saves_and_evaluates_averaged_weights(vocabulary: Path, tmp_path: Path) -> None:
    weights = []
    for name, decay in (("last", None), ("averaged", 0.9)):
        run = small_run(
            vocabulary,
            tmp_path / name,
            epochs=20,
            save_minutes=0,
            optimization={"average_decay": decay, "compile": False},
        )
        finetune(run)
        (checkpoint,) = run.output.glob("checkpoint-*")
        assert (checkpoint / "averages.safetensors").is_file() == (decay is not None)
        saved, last = (FormNetForTokenClassification.from_pretrained(folder) for folder in (run.output, checkpoint))
        assert torch.equal(saved.classifier.weight, last.classifier.weight) == (decay is None)
        weights.append(last.classifier.weight)
        assert json.loads((run.output / "done.json").read_text())
    assert torch.equal(*weights)  # training is the same
