"""Provenance of a result: command, commit, configuration, package versions and machine."""

import platform
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any


def provenance(**configuration: Any) -> dict[str, Any]:
    """Describe this run so that its results can be reproduced."""
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
    """Return the commit of the source tree, with "-dirty" after local changes; None for an installed package."""
    try:
        _git("ls-files", "--error-unmatch", Path(__file__).name)  # an installed copy may lie in another repository
        commit = _git("rev-parse", "--short=12", "HEAD")
        changed = _git(
            "status", "--porcelain", "--", ":/src/**/*.py", ":/benchmarks/**/*.py", ":/configs", ":/pyproject.toml"
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{commit}-dirty" if changed else commit


def _git(*arguments: str) -> str:
    result = subprocess.run(  # noqa: S603
        ["git", *arguments],  # noqa: S607
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=True,
        timeout=10,
    )
    return result.stdout.strip()


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return f"{len(names)} × {names[0]}" if names else platform.machine()
