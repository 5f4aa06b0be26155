"""`formnet doctor`: what is installed, what is missing, and what one could do about it."""

import os
import platform
import shutil
from collections.abc import Iterator
from typing import Annotated, NamedTuple

import typer

#: What parts of the work need: package → what for, and how one gets it.
OPTIONAL = {
    "accelerate": ("training", "pip install 'formnet[train]'"),
    "tensorboard": ("training curves", "pip install 'formnet[train]'"),
    "pyarrow": ("Parquet", "pip install 'formnet[train]'"),
    "matplotlib": ("plots", "pip install 'formnet[views]'"),
    "onnxscript": ("networks for other engines", "pip install 'formnet[onnx]'"),
    "ray": ("archives and the service", "pip install 'formnet[scale]'"),
}


class Finding(NamedTuple):
    """One line of the answer."""

    name: str
    found: str
    advice: str = ""


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON for programs.")] = False) -> None:
    """Tell what is installed and what is missing; exit with 1 if nothing could be extracted at all."""
    import json

    findings = list(look())
    if as_json:
        typer.echo(json.dumps([finding._asdict() for finding in findings], indent=2))
    else:
        for finding in findings:
            mark, advice = ("missing", f": {finding.advice}") if finding.advice else ("ok     ", "")
            typer.echo(f"{mark}  {finding.name:<12} {finding.found}{advice}")
    if any(finding.advice for finding in findings if finding.name == "models"):
        raise typer.Exit(1)


def look() -> Iterator[Finding]:
    """Look at everything."""
    from importlib.metadata import version

    import torch

    from formnet import __version__
    from formnet.extraction.pretrained import shipped
    from formnet.io.ocr import ENGINES, find_engine, is_installed

    yield Finding("formnet", f"{__version__} on Python {platform.python_version()}, {platform.system()}")
    device = "CUDA" if torch.cuda.is_available() else f"CPU, {torch.get_num_threads()} threads of {os.cpu_count()}"
    yield Finding("torch", f"{torch.__version__} ({device})")
    yield Finding("transformers", version("transformers"))
    yield Finding("PDF", f"pypdfium2 {version('pypdfium2')}")
    names = shipped()
    yield Finding("models", ", ".join(names) or "none shipped", "" if names else "train one with formnet train")
    for name, (_, way) in ENGINES.items():
        if is_installed(name):
            yield Finding(name, find_engine(name).name)
        else:
            yield Finding(name, "words from pictures", way)
    compiler = next((c for c in ("g++", "c++", "clang++") if shutil.which(c)), None)
    yield Finding(
        "compiler", compiler or "long documents and training run twice as fast", "" if compiler else "apt install g++"
    )
    for package, (purpose, way) in OPTIONAL.items():
        yield _package(package, purpose, way)


def _package(package: str, purpose: str, way: str) -> Finding:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return Finding(package, version(package))
    except PackageNotFoundError:
        return Finding(package, purpose, way)
