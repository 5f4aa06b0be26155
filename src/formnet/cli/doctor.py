"""`formnet doctor`: installed and missing components."""

import os
import platform
import shutil
from collections.abc import Iterator
from typing import NamedTuple

import typer

from formnet.cli.options import AsJson

#: Optional packages: what each is for, and how to install it.
OPTIONAL = {
    "accelerate": ("training", "pip install 'formnet[train]'"),
    "tensorboard": ("training curves", "pip install 'formnet[train]'"),
    "pyarrow": ("Parquet", "pip install 'formnet[train]'"),
    "matplotlib": ("plots", "pip install 'formnet[views]'"),
    "onnxscript": ("ONNX export", "pip install 'formnet[onnx]'"),
    "xlsxwriter": ("spreadsheets", "pip install 'formnet[xlsx]'"),
    "rapidfuzz": ("reference lists", "pip install 'formnet[references]'"),
    "watchfiles": ("hot folders", "pip install 'formnet[watch]'"),
    "mcp": ("access for agents", "pip install 'formnet[mcp]'"),
    "ray": ("bulk processing and the service", "pip install 'formnet[scale]'"),
}


class Component(NamedTuple):
    """One component: its version if it is installed, otherwise its purpose and how to install it."""

    name: str
    found: str
    advice: str = ""


def doctor(as_json: AsJson = False) -> None:
    """List installed and missing components. Exits with status 1 if a shipped model is missing or damaged."""
    import json

    components = list(check_components())
    if as_json:
        typer.echo(json.dumps([component._asdict() for component in components], indent=2))
    else:
        for component in components:
            status, advice = ("missing", f": {component.advice}") if component.advice else ("ok     ", "")
            typer.echo(f"{status}  {component.name:<12} {component.found}{advice}")
    if any(component.advice for component in components if component.name == "models"):
        raise typer.Exit(1)


def check_components() -> Iterator[Component]:
    """Yield all components."""
    from importlib.metadata import version

    import torch

    from formnet import __version__
    from formnet.extraction.pretrained import find_damaged_files, shipped_models
    from formnet.io.ocr import ENGINES, find_engine, is_installed

    yield Component("formnet", f"{__version__} on Python {platform.python_version()}, {platform.system()}")
    device = "CUDA" if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads of {os.cpu_count()}"
    yield Component("torch", f"{torch.__version__} ({device})")
    yield Component("transformers", version("transformers"))
    yield Component("PDF", f"pypdfium2 {version('pypdfium2')}")
    models, damaged = shipped_models(), find_damaged_files()
    advice = f"install again, because {', '.join(damaged)} was changed" if damaged else ""
    yield Component("models", ", ".join(models) or "none", advice)
    for name, engine in ENGINES.items():
        if is_installed(name):
            yield Component(name, find_engine(name).name)
        else:
            yield Component(name, "OCR", engine.install)
    compiler = next((name for name in ("g++", "c++", "clang++") if shutil.which(name)), None)
    purpose = "doubles the speed of training and of long documents"
    yield Component("compiler", compiler or purpose, "" if compiler else "apt install g++")
    for package, (purpose, install) in OPTIONAL.items():
        yield _check_package(package, purpose, install)


def _check_package(package: str, purpose: str, install: str) -> Component:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Component(package, version(package))
    except PackageNotFoundError:
        return Component(package, purpose, install)
