import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchmarks.__main__ import app
from benchmarks.tables import refresh, render


def test_results_stale_table_is_regenerated(tmp_path: Path) -> None:
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
    with pytest.raises(Exception, match="no table is named 'nonsense'"):
        render("nonsense", tmp_path)


def test_pretraining_table_multiplies_steps_and_tokens(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    config = {"optimization": {"max_batch_tokens": 2000, "gradient_accumulation_steps": 3}}
    record = {"config": config, "held_out": [{"step": 500, "loss": 3.1, "accuracy": 0.5}]}
    (tmp_path / "results" / "base.json").write_text(json.dumps(record))
    assert "| 500 | 3.0 M | 3.10 | 50.0% |" in render("base", tmp_path)
