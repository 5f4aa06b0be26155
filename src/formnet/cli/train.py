"""`formnet train` and `formnet pretrain`: learning, from one YAML file."""

from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.figures import Out, prepare, write_figures

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="The run's settings, a YAML file.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="Override a setting, as in optimization.learning_rate=3e-5."),
]
Resume = Annotated[bool, typer.Option(help="Go on from the last checkpoint in the output folder.")]


def train(config: Config, override: Overrides = None, resume: Resume = True) -> None:
    """Learn to find the entities of labeled documents."""
    prepare(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.finetune import finetune

    finetune(load_settings(FineTuning, config, override or ()), resume=resume)


def pretrain(config: Config, override: Overrides = None, resume: Resume = True, out: Out = None) -> None:
    """Learn to guess masked words of unlabeled pages; under torchrun, on several processes."""
    prepare(training=True)
    from formnet.training import PreTraining, load_settings
    from formnet.training.pretrain import pretrain as run
    from formnet.training.trainer import this_process

    settings = load_settings(PreTraining, config, override or ())
    curve = run(settings, resume=resume)
    if this_process()[0] == 0:
        write_figures({"config": settings.model_dump(mode="json"), **curve}, out)
