import json
from typing import Any

import pytest
import torch
from typer.testing import CliRunner

from benchmarks import model as models
from benchmarks.__main__ import app


@pytest.mark.slow
def test_inference_returns_a_row_per_precision() -> None:
    result = models.inference((64,), repeats=1, names=("layoutlmv3",))
    assert {row["dtype"] for row in result["rows"]} == {*models.DTYPES} >= {"float32"}
    assert {"name", "parameters", "tokens", "docs_per_second", "peak_mb"} <= set(result["rows"][0])


def test_model_quick_measures_few_models_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(models, "inference", lambda *arguments: calls.append(arguments) or {"rows": []})
    result = CliRunner().invoke(app, ["model", "--quick", "--json"], catch_exceptions=False)
    assert json.loads(result.stdout)["configuration"]["repeats"] == 1
    assert calls == [(models.QUICK_TOKENS, 1, models.QUICK_NAMES)]


def test_bert_inputs_labels_the_first_token_of_each_word() -> None:
    inputs = {
        "input_ids": torch.tensor([[5, 6, 7, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 0]]),
        "first_token": torch.tensor([[0, 2]]),
        "labels": torch.tensor([[3, 0]]),
    }
    assert models.bert_inputs(inputs)["labels"].tolist() == [[3, -100, 0, -100]]
