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


def test_ablation_effects_pairs_seeds_and_shows_the_paper(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    f1 = {"ETC": [0.5, 0.6], "ETC + RichAtt": [0.7, 0.7], "ETC + GCN": [0.6, 0.7], "FormNet": [0.69, 0.71]}
    rows = [
        {"variant": name, "trained_in": "given", "f1": {"given": {"per_seed": values}}} for name, values in f1.items()
    ]
    for name, corpus in (("ablation", "funsd"), ("ablation-cord", "cord"), ("ablation-without-pretraining", "funsd")):
        record = {"test": f"{corpus}:data@test", "rows": rows}
        (tmp_path / "results" / f"{name}.json").write_text(json.dumps(record))
    lines = render("ablation-effects", tmp_path).splitlines()
    assert lines[2:6] == [
        "| FUNSD | pre-trained | Rich Attention alone | +15.00 ± 7.07 | +16.32 |",
        "| FUNSD | pre-trained | Rich Attention next to the graph | +5.00 ± 5.66 | +5.16 |",
        "| FUNSD | pre-trained | graph alone | +10.00 ± 0.00 | +13.47 |",
        "| FUNSD | pre-trained | graph next to Rich Attention | +0.00 ± 1.41 | +2.31 |",
    ]
    assert lines[6].startswith("| CORD | pre-trained | Rich Attention alone |")
    assert lines[10].startswith("| FUNSD | not pre-trained | Rich Attention alone |")


def test_folds_table_compares_with_the_first_variant(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    rows = [
        {"variant": "as configured", "f1": {"mean": 0.6, "per_seed": [0.5, 0.7]}},
        {"variant": "changed", "f1": {"mean": 0.625, "per_seed": [0.55, 0.7]}},
    ]
    (tmp_path / "results" / "funsd-steps.json").write_text(json.dumps({"folds": [0, 2], "rows": rows}))
    lines = render("funsd-steps", tmp_path).splitlines()
    assert lines[0] == "| variant | F1, fold 0 | F1, fold 2 | mean | difference |"
    assert lines[2:] == [
        "| as configured | 50.00 | 70.00 | 60.00 |  |",
        "| changed | 55.00 | 70.00 | 62.50 | +2.50 ± 3.54 |",
    ]


def test_graph_use_table_names_the_score_of_each_model(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    edits = {"as_is": 0.5, "messages_cut": 0.25}
    rows = [
        {"model": "base", "corpus": "a", "documents": 2, "masked_language_accuracy": edits},
        {"model": "receipts", "corpus": "b", "documents": 3, "f1": edits},
    ]
    (tmp_path / "results" / "graph-use.json").write_text(json.dumps({"rows": rows}))
    assert render("graph-use", tmp_path).splitlines()[2:] == [
        "| `base` | 2 of `a` | masked-language accuracy | 50.0 | 25.0 |",
        "| `receipts` | 3 of `b` | F1 | 50.0 | 25.0 |",
    ]
