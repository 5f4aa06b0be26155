"""Without optional packages: which modules can be imported, and what commands report as missing."""

import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAMED = {
    "accelerate", "fastapi", "fsspec", "httpx", "matplotlib", "onnx", "onnxruntime", "onnxscript", "prometheus_client",
    "psutil", "pyarrow", "rapidocr", "ray", "starlette", "tensorboard", "uvicorn",
}  # fmt: skip
#: Dependencies of transformers are always installed; they differ between its versions.
TRANSITIVE = {
    re.split(r"\W", need, maxsplit=1)[0] for need in requires("huggingface-hub") or () if "extra ==" not in need
}
EXTRAS = NAMED - TRANSITIVE
#: Modules that need an extra.
WITH_EXTRAS = (
    "formnet.scale.",
    "benchmarks.attacks",
    "benchmarks.attack_list",
    "benchmarks.chaos",
    "benchmarks.hostile_folder",
    "benchmarks.overload",
    "benchmarks.worst_request",
)
IMPORT_ALL = f"""
import importlib, pkgutil, formnet, benchmarks
modules = [*pkgutil.walk_packages(formnet.__path__, "formnet.")]
modules += pkgutil.walk_packages(benchmarks.__path__, "benchmarks.")
for module in modules:
    if not module.name.startswith({WITH_EXTRAS!r}) and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def hiding(packages: set[str], code: str) -> subprocess.CompletedProcess[str]:
    hide = f"""
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in {packages!r} else find(name, *rest)
"""
    return subprocess.run([sys.executable, "-c", hide + code], capture_output=True, text=True, cwd=ROOT)


@pytest.mark.slow
def test_modules_without_extras_can_be_imported() -> None:
    done = hiding(EXTRAS, IMPORT_ALL)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "hidden", "advice"),
    [
        (["serve"], EXTRAS, "formnet[scale]"),
        (["bulk", "a", "b"], EXTRAS, "formnet[scale]"),
        (["train", "configs/example.yaml"], EXTRAS, "formnet[train]"),
        (["extract", "examples/receipt.jpg", "-o", "/tmp/table.xlsx"], {"xlsxwriter"}, "formnet[xlsx]"),
        (["watch", "in", "out", "--table", "xlsx"], {"xlsxwriter"}, "formnet[xlsx]"),
        (["benchmarks", "attacks", "receipts"], {"httpx"}, "formnet doctor"),
    ],
)
def test_command_without_its_extra_names_it(words: list[str], hidden: set[str], advice: str) -> None:
    app = "formnet.cli"
    if words[0] == "benchmarks":
        app, words = "benchmarks.__main__", words[1:]
    done = hiding(hidden, f"sys.argv[1:] = {words!r}\nfrom formnet.cli import run\nfrom {app} import app\nrun(app)")
    assert done.returncode == 2, done.stderr
    assert advice in done.stderr
    assert "Traceback" not in done.stderr
