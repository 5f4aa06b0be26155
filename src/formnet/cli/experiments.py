"""`formnet experiment`, `compare`, `ablate`, `curve`: runs that belong together, with their spread."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formnet.cli.figures import Orders, Out, prepare, print_json, write_figures
from formnet.cli.options import ReadingOrder
from formnet.cli.train import Config, Overrides

if TYPE_CHECKING:
    from formnet.document.reading_order import Order

Test = Annotated[str, typer.Option("--test", metavar="CORPUS", help="What to score on, as in funsd:data/funsd@test.")]
Seeds = Annotated[list[int] | None, typer.Option("--seed", min=0, help="Train with this seed; give it several times.")]


def experiment(
    config: Config, test: Test, seed: Seeds = None, order: Orders = None, override: Overrides = None, out: Out = None
) -> None:
    """Train one configuration with several seeds and score it on test documents."""
    prepare(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.experiments.repeat import repeat

    run = load_settings(FineTuning, config, override or ())
    result = repeat(run, test, seed or [0, 1, 2], _orders(order or [ReadingOrder.given]))
    _give({"config": run.model_dump(mode="json"), **result}, out)


def compare(
    config: Config,
    variants: Annotated[Path, typer.Argument(help="YAML: names, each with the settings that it overrides.")],
    seed: Seeds = None,
    test: Annotated[
        str | None,
        typer.Option(metavar="CORPUS", help="Score on these instead, for a figure; no choice should follow from it."),
    ] = None,
    override: Overrides = None,
    out: Out = None,
) -> None:
    """Try choices one by one, judged on the held-out part of training."""
    prepare(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.experiments.compare import compare as run_all
    from formnet.training.experiments.compare import read_variants

    common = load_settings(FineTuning, config, override or ())
    result = run_all(config, read_variants(variants), seed or [0], test, override or ())
    _give({"config": common.model_dump(mode="json"), **result}, out)


def ablate(
    config: Config,
    test: Test,
    seed: Seeds = None,
    trained_in: Annotated[list[ReadingOrder] | None, typer.Option(help="Train in this reading order.")] = None,
    order: Orders = None,
    variant: Annotated[
        list[str] | None, typer.Option(help="Only this one, as in 'ETC + GCN'; what else is in --out stays.")
    ] = None,
    override: Overrides = None,
    out: Out = None,
) -> None:
    """Train with and without Rich Attention and super-tokens: the paper's 2×2, in good and bad order."""
    prepare(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.experiments.ablation import VARIANTS, beside, refuse_others
    from formnet.training.experiments.ablation import ablate as run_all

    run = load_settings(FineTuning, config, override or ())
    trained, scored = _orders(trained_in or [ReadingOrder.given]), _orders(order or list(ReadingOrder))
    seeds = seed or [0]
    old = json.loads(out.read_text(encoding="utf-8")) if variant and out is not None and out.is_file() else None
    if old is not None:
        refuse_others(old, test, seeds, run)
    result = run_all(run, test, seeds, trained, scored, variant or tuple(VARIANTS))
    if old is not None:
        result = beside(result, old)
    _give({"config": run.model_dump(mode="json"), **result}, out)


def curve(
    config: Config,
    test: Test,
    documents: Annotated[list[int] | None, typer.Option(min=1, help="Train on so many; give it several times.")] = None,
    seed: Seeds = None,
    override: Overrides = None,
    out: Out = None,
) -> None:
    """Train on few and on all documents: how many labels are enough."""
    prepare(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.experiments.curve import learning_curve

    run = load_settings(FineTuning, config, override or ())
    result = learning_curve(run, test, documents or [10, 50, 100], seed or [0])
    _give({"config": run.model_dump(mode="json"), **result}, out)


def _orders(chosen: list[ReadingOrder]) -> list["Order"]:
    return [order.value for order in chosen]


def _give(result: dict[str, Any], out: Path | None) -> None:
    write_figures(result, out)
    print_json(result)
