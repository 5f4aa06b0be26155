"""Backends of attention within the radius, and the choice among them.

`tiled` is linear in length and runs anywhere; `compiled` is the same fused by torch.compile; `export` uses only
operations that ONNX has. `dense` is the reference in `formnet.modeling.formnet`, and `auto` chooses per batch.
"""

import shutil
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch import Tensor

from formnet.modeling.attention.band import make_band
from formnet.modeling.attention.inputs import AttentionGeometry
from formnet.modeling.attention.tiled import compile_dynamic

BACKENDS = ("auto", "dense", "tiled", "compiled", "export")
#: Minimum batch size, in tokens and in words, for which inference is compiled.
MIN_COMPILED_TOKENS, MIN_COMPILED_WORDS = 4096, 2048


def choose_backend(backend: str, states: Tensor, min_compiled: int = MIN_COMPILED_TOKENS) -> str:
    """Resolve `auto`: compile for training and for large batches, if there is a compiler; otherwise use plain tiles.

    The choice depends on this batch alone, so the same batch always gives the same numbers.
    """
    if backend not in BACKENDS:
        raise ValueError(f"attention backend {backend!r} is not among {', '.join(BACKENDS)}.")
    if backend != "auto":
        return backend
    if torch.compiler.is_compiling() or states.dtype == torch.float64:
        return "tiled"
    is_large = states.requires_grad or states.shape[0] * states.shape[1] >= min_compiled
    return "compiled" if is_large and (states.is_cuda or has_compiler()) else "tiled"


@cache
def has_compiler() -> bool:
    """Return whether torch.compile finds a C++ compiler."""
    return any(shutil.which(name) for name in ("g++", "c++", "clang++"))


def compile_if(backend: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function, compiled if that is the backend."""
    return compile_dynamic(function) if backend == "compiled" else function


def make_geometry(valid: Tensor, centers: Tensor, radius: int, backend: str, *, rich: bool) -> AttentionGeometry:
    """Compute a batch's geometry for a backend; `rich` says whether attention uses positions."""
    band = make_band(valid, centers if rich else None, radius) if backend in ("tiled", "compiled") else None
    return AttentionGeometry(valid, centers, radius, backend, band)
