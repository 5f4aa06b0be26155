"""`formnet train` and `formnet pretrain`: learning, from one YAML file."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from formnet.errors import SettingsError
from formnet.onednn import hold_caches

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run's settings, a YAML file.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Override a setting, as in optimisation.learning_rate=3e-5."),
]
Out = Annotated[Path | None, typer.Option("--out", help="Write the figures here as JSON, too.")]
Resume = Annotated[bool, typer.Option(help="Go on from the last checkpoint in the output folder.")]


def train(config: Config, override: Overrides = None, resume: Resume = True) -> None:
    """Learn to find the entities of labelled documents."""
    prepare(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.finetune import finetune

    finetune(load_settings(FineTuning, config, override or ()), resume=resume)


def pretrain(config: Config, override: Overrides = None, resume: Resume = True, out: Out = None) -> None:
    """Learn to guess masked words of unlabelled pages; under torchrun, on several processes."""
    prepare(training=True)
    from formnet.training import PreTraining, load_settings
    from formnet.training.pretrain import pretrain as run

    settings = load_settings(PreTraining, config, override or ())
    curve = run(settings, resume=resume)
    if out is not None:
        write_figures({"config": settings.model_dump(mode="json"), **curve}, out)


def prepare(*, training: bool = False) -> None:
    """Hold oneDNN's caches, and keep what transformers says of loading weights out of the way."""
    if training and find_spec("accelerate") is None:
        raise SettingsError("training needs more packages; run pip install 'formnet[train]'.")
    hold_caches()
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()


def write_figures(result: dict[str, Any], out: Path) -> None:
    """Write figures with what says where they come from."""
    from formnet.provenance import provenance

    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({**provenance(), **result}, indent=2) + "\n", encoding="utf-8")
