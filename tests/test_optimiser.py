"""Which weights learn how fast, which not at all, and what is dropped meanwhile."""

import re
from pathlib import Path

import pytest
import torch

from formnet.errors import SettingsError
from formnet.modeling import FormNetForTokenClassification
from formnet.modeling.dropout import Dropout
from formnet.training.config import Optimization, Start
from formnet.training.initialization import load_start
from formnet.training.optimizer import freeze, parameter_groups


def test_groups_hold_every_weight_once_and_decay_with_depth(vocabulary: Path) -> None:
    model = load_start(
        Start(size="tiny", tokenizer=str(vocabulary), changes={"num_hidden_layers": 3}), FormNetForTokenClassification
    ).model
    new = {n for n, _ in model.named_parameters() if re.search(r"classifier|\.rich\.|gate|super_tokens", n)}
    settings = Optimization(learning_rate=1e-4, new_learning_rate=1e-3, layer_decay=0.5)
    groups = parameter_groups(model, settings, 3, new)
    held = [id(p) for group in groups for p in group["params"]]
    assert sorted(held) == sorted(id(p) for p in model.parameters())
    rate = {id(p): group["lr"] for group in groups for p in group["params"]}
    layers = model.formnet.layers
    assert [rate[id(layer.query.weight)] for layer in layers] == [2.5e-5, 5e-5, 1e-4]
    assert rate[id(model.formnet.pieces.weight)] == 1.25e-5
    assert rate[id(model.classifier.weight)] == rate[id(layers[0].rich.row)] == rate[id(model.formnet.gate)] == 1e-3
    decayed = {id(p) for group in groups if group["weight_decay"] for p in group["params"]}
    assert id(layers[0].query.weight) in decayed
    assert id(layers[0].query.bias) not in decayed
    assert id(layers[0].rich.sharpness) not in decayed
    quick = parameter_groups(model, settings.model_copy(update={"layout_learning_rate": 0.01}), 3, new)
    fast = {id(p) for group in quick if group["lr"] == 0.01 for p in group["params"]}
    placed = [p for layer in layers for p in (*layer.rich.parameters(), layer.to_global)]
    assert fast == {id(model.formnet.gate), *map(id, placed)}
    cold = parameter_groups(model, settings, 3, ())
    assert max(group["lr"] for group in cold) == 1e-4


def test_what_is_frozen_does_not_learn(vocabulary: Path) -> None:
    model = load_start(Start(size="tiny", tokenizer=str(vocabulary)), FormNetForTokenClassification).model
    stay = ("formnet.pieces", "formnet.layers.0.")
    freeze(model, stay)
    learning = {id(p) for group in parameter_groups(model, Optimization(), 2, ()) for p in group["params"]}
    assert learning == {id(p) for name, p in model.named_parameters() if not name.startswith(stay)}
    with pytest.raises(SettingsError, match="no weight is called 'nothing'"):
        freeze(model, ["nothing"])


def test_dropout_drops_its_share_keeps_the_mean_and_repeats() -> None:
    dropout, ones = Dropout(0.25), torch.ones(400, 500)
    torch.manual_seed(1)
    first = dropout(ones)
    torch.manual_seed(1)
    assert torch.equal(first, dropout(ones))
    assert not torch.equal(first, dropout(ones))
    assert abs((first == 0).float().mean() - 0.25) < 0.005
    assert abs(first.mean() - 1) < 0.01
    assert torch.equal(dropout.eval()(ones), ones)
