"""`formnet train`, `formnet distill` and `formnet pretrain`, configured by one YAML file."""

from pathlib import Path
from typing import Annotated

import typer

from formnet.cli.results import Out, configure_runtime, write_results

Config = Annotated[Path, typer.Argument(metavar="CONFIG", help="YAML file with the settings of the run.")]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Override a setting, as in optimization.learning_rate=3e-5; repeatable."
    ),
]
Resume = Annotated[bool, typer.Option(help="Resume from the last checkpoint in the output folder.")]


def train(config: Config, override: Overrides = None, resume: Resume = True) -> None:
    """Fine-tune a model on labeled documents."""
    configure_runtime(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.finetune import finetune

    finetune(load_settings(FineTuning, config, override or ()), resume=resume)


def distill(config: Config, override: Overrides = None, resume: Resume = True) -> None:
    """Train a model on the tag probabilities of other models for unlabeled documents."""
    configure_runtime(training=True)
    from formnet.training import Distillation, load_settings
    from formnet.training.distill import distill as run_distillation

    run_distillation(load_settings(Distillation, config, override or ()), resume=resume)


def pretrain(config: Config, override: Overrides = None, resume: Resume = True, out: Out = None) -> None:
    """Pre-train a masked language model on unlabeled pages; run under torchrun for several processes."""
    configure_runtime(training=True)
    from formnet.training import PreTraining, load_settings
    from formnet.training.pretrain import pretrain as run_pretraining
    from formnet.training.trainer import process_rank

    settings = load_settings(PreTraining, config, override or ())
    curve = run_pretraining(settings, resume=resume)
    if process_rank() == 0:
        write_results({"config": settings.model_dump(mode="json"), **curve}, out)
