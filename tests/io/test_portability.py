"""`formnet extract` on systems without POSIX."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HELPERS = Path(__file__).parents[1] / "helpers"


def run_without_posix(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run Python in processes, also those that it starts, in which formnet finds no POSIX functions."""
    (folder / "sitecustomize.py").write_text("import without_posix\nwithout_posix.install()\n")
    path = os.pathsep.join([str(folder), str(HELPERS)])
    environment = {**os.environ, "PYTHONPATH": path}
    return subprocess.run([sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_extract_without_posix_reads_a_file_in_a_child_process(tmp_path: Path, pdf: Path) -> None:
    result = run_without_posix(tmp_path, "-m", "formnet.cli", "extract", str(pdf), "--format", "json")
    assert result.returncode == 0, result.stderr
    (document,) = json.loads(result.stdout)
    assert document["entities"]


def test_without_posix_formnet_finds_no_posix_functions(tmp_path: Path) -> None:
    lines = ["import signal", "print(hasattr(signal, 'alarm'))", "import fcntl"]
    (tmp_path / "formnet_probe.py").write_text("\n".join(lines))
    result = run_without_posix(
        tmp_path, "-c", "import fcntl, signal; print(hasattr(signal, 'alarm')); import formnet_probe"
    )
    assert result.stdout.split() == ["True", "False"]
    assert "No module named 'fcntl'" in result.stderr
