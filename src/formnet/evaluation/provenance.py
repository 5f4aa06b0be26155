"""Where a figure comes from: the command, the commit and the machine, kept with every result."""

import platform
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any


def provenance(**configuration: Any) -> dict[str, Any]:
    """Describe this run, so that its figures can be made again."""
    return {
        "command": _command(),
        "commit": _commit(),
        "configuration": configuration,
        "python": platform.python_version(),
        "packages": {name: version(name) for name in ("formnet", "numpy", "scipy", "torch", "transformers")},
        "machine": {"cpu": _cpu(), "system": platform.system()},
    }


def _command() -> str:
    program = ["python", "-m", "benchmarks"] if Path(sys.argv[0]).parent.name == "benchmarks" else ["formnet"]
    return shlex.join([*program, *sys.argv[1:]])


def _commit() -> str | None:
    """Give the commit of the source tree, marked if what runs has changed since; none if installed."""
    try:
        _git("ls-files", "--error-unmatch", Path(__file__).name)  # installed, it may lie in another project's tree
        commit = _git("rev-parse", "--short=12", "HEAD")
        changed = _git(
            "status", "--porcelain", "--", ":/src/**/*.py", ":/benchmarks/**/*.py", ":/configs", ":/pyproject.toml"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}-dirty" if changed else commit


def _git(*words: str) -> str:
    told = subprocess.run(  # noqa: S603
        ["git", *words],  # noqa: S607
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return told.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} × {names[0]}" if names else platform.machine()
