"""Without any extra, everything but the rooms that need one can be imported, and commands say what they miss."""

import re
import subprocess
import sys
from importlib.metadata import requires

NAMED = {
    "accelerate", "fastapi", "fsspec", "httpx", "matplotlib", "onnx", "onnxruntime", "onnxscript", "prometheus_client",
    "psutil", "pyarrow", "rapidocr", "ray", "starlette", "tensorboard", "uvicorn",
}  # fmt: skip
#: What transformers brings along is always there; which of these that is differs from version to version.
BROUGHT = {re.split(r"\W", need, maxsplit=1)[0] for need in requires("huggingface-hub") or () if "extra ==" not in need}
EXTRAS = NAMED - BROUGHT
#: Rooms that carry an extra's name, and what measures them.
NEEDY = (
    "formnet.scale.",
    "formnet.benchmarks.attacks",
    "formnet.benchmarks.attack_list",
    "formnet.benchmarks.overload",
)
BLOCK = f"""
import sys
from importlib.machinery import PathFinder
find = PathFinder.find_spec
PathFinder.find_spec = lambda name, *rest: None if name.partition(".")[0] in {EXTRAS!r} else find(name, *rest)
"""
IMPORT_ALL = f"""
import importlib, pkgutil, formnet
for module in pkgutil.walk_packages(formnet.__path__, "formnet."):
    if not module.name.startswith({NEEDY!r}) and not module.name.endswith("__main__"):
        importlib.import_module(module.name)
"""


def without_extras(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", BLOCK + code], capture_output=True, text=True)


def test_everything_else_can_be_imported() -> None:
    done = without_extras(IMPORT_ALL)
    assert done.returncode == 0, done.stderr


def test_commands_say_what_they_miss() -> None:
    for words, advice in (
        (["serve"], "formnet[scale]"),
        (["bulk", "a", "b"], "formnet[scale]"),
        (["train", "configs/example.yaml"], "formnet[train]"),
        (["bench", "attacks", "receipts"], "formnet doctor"),
    ):
        done = without_extras(f"sys.argv[1:] = {words!r}\nfrom formnet.cli import main\nmain()")
        assert done.returncode == 2, done.stderr
        assert advice in done.stderr
        assert "Traceback" not in done.stderr
