"""Parameter groups and frozen parameters."""

import re
from pathlib import Path

import pytest

from formnet.errors import SettingsError
from formnet.modeling import FormNetForTokenClassification
from formnet.training.config import InitConfig, Optimization
from formnet.training.initialization import initialize
from formnet.training.optimizer import freeze, parameter_groups


def make_model(vocabulary: Path, **overrides: object) -> FormNetForTokenClassification:
    init = InitConfig(size="tiny", tokenizer=str(vocabulary), overrides=overrides)
    return initialize(init, Optimization(compile=False), FormNetForTokenClassification).model


def test_parameter_groups_layer_decay_contain_each_parameter_once(vocabulary: Path) -> None:
    model = make_model(vocabulary, num_hidden_layers=3)
    new = {n for n, _ in model.named_parameters() if re.search(r"classifier|\.rich\.|gate|super_tokens", n)}
    settings = Optimization(learning_rate=1e-4, new_learning_rate=1e-3, layer_decay=0.5)
    groups = parameter_groups(model, settings, 3, new)
    grouped = [id(p) for group in groups for p in group["params"]]
    assert sorted(grouped) == sorted(id(p) for p in model.parameters())
    rate = {id(p): group["lr"] for group in groups for p in group["params"]}
    layers = model.formnet.layers
    assert [rate[id(layer.query.weight)] for layer in layers] == [2.5e-5, 5e-5, 1e-4]
    assert rate[id(model.formnet.token_embeddings.weight)] == 1.25e-5
    rich = layers[0].rich.query_weight
    assert rate[id(model.classifier.weight)] == rate[id(rich)] == rate[id(model.formnet.gate)] == 1e-3
    decayed = {id(p) for group in groups if group["weight_decay"] for p in group["params"]}
    assert id(layers[0].query.weight) in decayed
    assert id(layers[0].query.bias) not in decayed
    assert id(layers[0].rich.theta) not in decayed
    with_layout_rate = parameter_groups(model, settings.model_copy(update={"layout_learning_rate": 0.01}), 3, new)
    fast = {id(p) for group in with_layout_rate if group["lr"] == 0.01 for p in group["params"]}
    layout = [p for layer in layers for p in (*layer.rich.parameters(), layer.global_bias)]
    assert fast == {id(model.formnet.gate), *map(id, layout)}
    without_new = parameter_groups(model, settings, 3, ())
    assert max(group["lr"] for group in without_new) == 1e-4


def test_parameter_groups_learning_rates_by_name_come_first(vocabulary: Path) -> None:
    model = make_model(vocabulary)
    settings = Optimization(
        learning_rate=1e-4, layout_learning_rate=1e-2, learning_rates={".edge.": 3e-3, "gate": 1e-5}
    )
    groups = parameter_groups(model, settings, 2, ())
    rate = {id(p): group["lr"] for group in groups for p in group["params"]}
    assert {rate[id(layer.edge.weight)] for layer in model.formnet.super_tokens.layers} == {3e-3}
    assert rate[id(model.formnet.gate)] == 1e-5
    assert rate[id(model.formnet.layers[0].rich.theta)] == 1e-2
    with pytest.raises(SettingsError, match="no parameter name contains 'nothing'"):
        parameter_groups(model, Optimization(learning_rates={"nothing": 1.0}), 2, ())


def test_freeze_prefixes_excludes_parameters_from_groups(vocabulary: Path) -> None:
    model = make_model(vocabulary)
    prefixes = ("formnet.token_embeddings", "formnet.layers.0.")
    freeze(model, prefixes)
    trained = {id(p) for group in parameter_groups(model, Optimization(), 2, ()) for p in group["params"]}
    assert trained == {id(p) for name, p in model.named_parameters() if not name.startswith(prefixes)}
    with pytest.raises(SettingsError, match="no parameter name starts with 'nothing'"):
        freeze(model, ["nothing"])
