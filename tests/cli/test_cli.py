"""The application: help, imports and user errors."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.__main__ import app as benchmarks
from command_line import run_command
from formnet.cli import main


def test_app_help_and_version_are_printed() -> None:
    assert "data" in run_command("--help")
    assert run_command("--version").startswith("formnet ")
    for group in ("data", "view"):
        assert "Usage" in run_command(group, "--help")
    assert "Usage" in run_command("--help", app=benchmarks)


def test_app_import_loads_no_heavy_package() -> None:
    heavy = ("torch", "numpy", "scipy", "PIL", "transformers")
    code = f"import formnet, formnet.cli, sys; print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


@pytest.mark.slow
@pytest.mark.timing
def test_app_help_is_as_fast_as_a_bare_typer_program(tmp_path: Path) -> None:
    bare = tmp_path / "bare.py"
    bare.write_text("import typer\napp = typer.Typer()\n@app.command()\ndef hello(name: str): ...\napp()\n")

    def seconds(*command: str) -> float:
        start = time.perf_counter()
        subprocess.run([sys.executable, *command, "--help"], capture_output=True, check=True)
        return time.perf_counter() - start

    seconds("-m", "formnet.cli")  # byte code
    # Pairs, since the machine's own speed changes from one second to the next.
    ratios = [seconds("-m", "formnet.cli") / seconds(str(bare)) for _ in range(9)]
    assert statistics.median(ratios) < 1.5, ratios


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["data", "stats", "nonsense"], "not a corpus"),
        (["data", "stats", "funsd:/nowhere"], "no such file"),
        (["extract", "/nowhere.pdf"], "/nowhere.pdf: no such file"),
        (["view", "graph", "EXAMPLES", "--document", "x"], "holds no document 'x'"),
        (["view", "graph", "EXAMPLES", "--page", "9"], "no page 9"),
        (["view", "graph", "EXAMPLES", "--out", "/no/such/folder/x.png"], "No such file"),
        (["data", "convert", "EXAMPLES", "/no/such/folder/x.jsonl"], "No such file"),
    ],
)
def test_app_user_error_prints_one_line(
    words: list[str], says: str, examples: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["formnet", *(w.replace("EXAMPLES", f"jsonl:{examples}") for w in words)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
