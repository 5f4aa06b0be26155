"""Figures: how commands prepare for them, where they are written, and how they are printed."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from formnet.cli.options import ReadingOrder
from formnet.errors import SettingsError
from formnet.extraction.runtime import hold_caches

Out = Annotated[Path | None, typer.Option("--out", help="Write the figures here as JSON, too.")]
Orders = Annotated[
    list[ReadingOrder] | None, typer.Option("--order", help="Score in this reading order; give it several times.")
]


def prepare(*, training: bool = False) -> None:
    """Hold oneDNN's caches, and keep what transformers says of loading weights out of the way."""
    if training and find_spec("accelerate") is None:
        raise SettingsError("training needs more packages; run pip install 'formnet[train]'.")
    hold_caches()
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def print_json(result: dict[str, Any], **configuration: Any) -> None:
    """Print figures with what says where they come from."""
    from formnet.evaluation.provenance import provenance

    typer.echo(json.dumps({**provenance(**configuration), **result}, indent=2))


def write_figures(result: dict[str, Any], out: Path | None) -> None:
    """Write figures, if it is said where, with what says where they come from."""
    from formnet.evaluation.provenance import provenance

    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps({**provenance(), **result}, indent=2) + "\n", encoding="utf-8")
