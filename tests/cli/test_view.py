"""`formnet view`."""

from pathlib import Path

import numpy as np
from PIL import Image

from command_line import run_command
from formnet.visualization.graph import HORIZONTAL, VERTICAL


def test_view_graph_draws_edges(examples: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.png"
    said = run_command(
        "view", "graph", f"jsonl:{examples}", "--document", "printer-invoice", "--page", "2", "--out", str(out)
    )
    assert "35 words" in said
    with Image.open(out) as picture:
        assert max(picture.size) == 2000
        colors = np.array([color for _, color in picture.convert("RGB").getcolors(2**24) or []])
    for meant in (HORIZONTAL, VERTICAL):
        assert (np.abs(colors - meant).max(axis=1) < 16).any()


def test_view_graph_with_scan_draws_over_it(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "graph.png"
    run_command("view", "graph", f"funsd:{data}/funsd@test", "--out", str(out))
    with Image.open(out) as picture:
        assert picture.height == 2000
