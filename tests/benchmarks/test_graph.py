"""`python -m benchmarks graph`."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import app as benchmarks
from command_line import run_command


@pytest.mark.timing
def test_graph_command_prints_ratio(examples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from benchmarks import graph

    monkeypatch.setattr(graph.benchmark, "__defaults__", ((100, 1000),))
    record = json.loads(run_command("graph", f"jsonl:{examples}", "--repeats", "2", "--json", app=benchmarks))
    assert record["points"] == [100, 1000]
    assert len(record["seconds"]) == 2
    assert record["ratio_to_delaunay"] > 1
    assert "Delaunay" in run_command("graph", f"jsonl:{examples}", "--repeats", "1", app=benchmarks)
