"""Runtime configuration and result output shared by the commands."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from formnet.cli.options import ReadingOrder
from formnet.errors import SettingsError
from formnet.extraction.runtime import limit_onednn_caches

Out = Annotated[Path | None, typer.Option("--out", help="JSON file to write the results to.")]
Orders = Annotated[
    list[ReadingOrder] | None,
    typer.Option("--order", help="Reading order to evaluate; repeat for several. Default: given."),
]


def configure_runtime(*, training: bool = False) -> None:
    """Configure the oneDNN caches and silence the messages of transformers about loading weights."""
    if training and find_spec("accelerate") is None:
        raise SettingsError("training requires additional packages. Run pip install 'formnet[train]'.")
    limit_onednn_caches()
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def print_json(result: dict[str, Any], **configuration: Any) -> None:
    """Print a result as JSON, with its provenance."""
    from formnet.evaluation.provenance import provenance

    typer.echo(json.dumps({**provenance(**configuration), **result}, indent=2))


def write_results(result: dict[str, Any], out: Path | None) -> None:
    """Write a result to a JSON file, with its provenance; do nothing without a path."""
    from formnet.evaluation.provenance import provenance

    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(json.dumps({**provenance(), **result}, indent=2) + "\n", encoding="utf-8")
