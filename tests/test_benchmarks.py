"""A tiny version of each benchmark: that it runs, and says what it promises."""

import json
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from benchmarks import attention, extract, parameters
from benchmarks import model as models
from benchmarks.__main__ import app
from benchmarks.memory import peak_megabytes
from benchmarks.tables import refresh, render
from formnet.extraction.extractor import Extractor
from plain_documents import documents


def test_attention_rows() -> None:
    result = attention.benchmark((128,), ("float32",), repeats=2, backend="blocked")
    (case,) = result["cases"]
    assert {"tokens", "dtype", "forward_ratio", "train_ratio", "peak_mb"} <= set(case)
    assert case["forward_ratio"] > 0


def test_what_is_timed_as_rich_attention_is_rich_attention(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr(attention, "_ratio", lambda *a: seen.append(a) or ({"median": 1, "spread": [1, 1]}, {}))
    attention.measure(70, "float32", 1, "blocked")
    assert len(seen) == 2


def test_model_rows() -> None:
    result = models.inference((64,), repeats=1, names=("layoutlmv3",))
    assert {row["dtype"] for row in result["rows"]} == {"float32", "bfloat16"}
    assert {"name", "parameters", "tokens", "docs_per_second", "peak_mb"} <= set(result["rows"][0])


def test_extraction_is_measured_beside_the_bare_network(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Extractor, "warm_up", lambda _: None)  # half a minute, and tested where it belongs
    result = extract.benchmark(Extractor.from_pretrained(model), list(documents(6)), repeats=2)
    spent = result["milliseconds_per_document"]
    assert 0 < result["ratio_to_model"] == pytest.approx(spent["bare"] / spent["whole"], rel=0.5)
    assert {"encoding", "collating", "decoding"} < set(spent)


def test_bert_is_given_the_same_tags() -> None:
    inputs = {
        "input_ids": torch.tensor([[5, 6, 7, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 0]]),
        "first_token": torch.tensor([[0, 2]]),
        "labels": torch.tensor([[3, 0]]),
    }
    assert models.plain_inputs(inputs)["labels"].tolist() == [[3, -100, 0, -100]]


def test_parameters_are_within_two_percent_but_for_a1() -> None:
    ratios = {row["name"]: row["ratio"] for row in parameters.count()["rows"]}
    assert all(abs(ratio - 1) < 0.02 for name, ratio in ratios.items() if name != "a1")
    assert abs(ratios["a1"] - 1) < 0.13


def test_memory_is_seen() -> None:
    assert 60 < peak_megabytes(lambda: torch.ones(20 * 2**20).sum()) < 200


def test_tables_are_what_results_say(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    record = {"rows": [{"name": "a1", "parameters": 115_000_000, "published_millions": 131, "ratio": 0.88}]}
    (tmp_path / "results" / "parameters.json").write_text(json.dumps(record))
    page = tmp_path / "README.md"
    page.write_text("before\n<!-- results:parameters -->\nstale\n<!-- /results -->\nafter\n")
    runner = CliRunner()
    assert runner.invoke(app, ["results", "--check", "--root", str(tmp_path)]).exit_code == 1
    assert "stale" in page.read_text()
    assert runner.invoke(app, ["results", "--root", str(tmp_path)]).exit_code == 0
    assert "| a1 | 115.0 M | 131 M | -12.0% |" in page.read_text()
    assert runner.invoke(app, ["results", "--check", "--root", str(tmp_path)]).exit_code == 0
    assert [old == new for _, old, new in refresh(tmp_path)] == [True]
    with pytest.raises(Exception, match="there is no table"):
        render("nonsense", tmp_path)
