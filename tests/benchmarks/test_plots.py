from pathlib import Path

from benchmarks.plots import draw_curve, draw_pretraining
from benchmarks.tables.graph_use import pretraining_variants
from benchmarks.tables.scores import curve


def make_record() -> dict[str, object]:
    curves = [[{"step": s, "accuracy": s / 1000, "accuracy_shuffled": s / 2000} for s in (100, 200)] for _ in range(2)]
    score = {"mean": 0.2, "std": 0.01, "per_seed": [0.19, 0.21]}
    row = {
        "loss": {"mean": 3.0, "std": None, "per_seed": [3.0]},
        "accuracy": score,
        "accuracy_shuffled": score,
        "curves": curves,
    }
    return {
        "rows": [
            {"variant": "no graph", "graph_use": {}, **row},
            {"variant": "graph", "graph_use": {"messages_cut": score}, **row},
        ],
    }


def test_draw_pretraining_writes_image(tmp_path: Path) -> None:
    draw_pretraining(make_record(), tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5_000


def test_pretraining_variants_leaves_cells_of_models_without_graph_empty() -> None:
    lines = pretraining_variants(make_record()).splitlines()
    assert lines[2].endswith("|  |")
    assert lines[3].count("20.0") == 3
    assert lines[-1] == "200 steps, 2 seeds."


def test_curve_has_column_per_start_and_gaps_where_not_measured(tmp_path: Path) -> None:
    points = [{"documents": n, "f1": {"mean": n / 100, "std": None, "per_seed": [n / 100]}} for n in (10, 50)]
    rows = [
        {"test": "funsd:data@test", "init": "base", "points": points},
        {"test": "funsd:data@test", "init": "minilm", "points": points[:1]},
    ]
    draw_curve({"rows": rows}, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5_000
    assert curve({"rows": rows}).splitlines()[2:] == ["| FUNSD | 10 | 10.00 | 10.00 |", "| FUNSD | 50 | 50.00 |  |"]
