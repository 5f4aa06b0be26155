"""`formnet run-seeds`, `compare`, `ablate` and `learning-curve`: several training runs with a common result."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formnet.cli.options import ReadingOrder
from formnet.cli.results import Orders, Out, configure_runtime, print_json, write_results
from formnet.cli.train import Config, Overrides

if TYPE_CHECKING:
    from formnet.document.reading_order import Order

Test = Annotated[str, typer.Option("--test", metavar="CORPUS", help="Corpus to score on, as in funsd:data/funsd@test.")]
Seeds = Annotated[list[int] | None, typer.Option("--seed", min=0, help="Random seed; repeat for several.")]


Variants = Annotated[
    list[str] | None,
    typer.Option("--variant", help="Variant to train; repeat for several. Other rows in --out are kept. Default: all."),
]


def run_seeds(
    config: Config,
    test: Test,
    seed: Seeds = None,
    order: Orders = None,
    structure: Annotated[
        bool, typer.Option("--structure", help="Score links and trees, in the given order, instead of entities.")
    ] = False,
    override: Overrides = None,
    out: Out = None,
) -> None:
    """Train one configuration with several seeds (default: 0, 1 and 2) and score it on test documents."""
    configure_runtime(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.experiments.run_seeds import run_seeds as run_experiment
    from formnet.training.experiments.structure import run_seeds_structure

    run = load_settings(FineTuning, config, override or ())
    seeds = seed or [0, 1, 2]
    if structure:
        result = run_seeds_structure(run, test, seeds)
    else:
        result = run_experiment(run, test, seeds, _orders(order or [ReadingOrder.given]))
    _output({"config": run.model_dump(mode="json"), **result}, out)


def compare(
    config: Config,
    variants: Annotated[Path, typer.Argument(help="YAML file with names of variants and lists of their overrides.")],
    seed: Seeds = None,
    test: Annotated[
        str | None,
        typer.Option(
            metavar="CORPUS", help="Corpus to score on instead of held-out documents, for reporting, not for selection."
        ),
    ] = None,
    fold: Annotated[
        list[int] | None,
        typer.Option("--fold", min=0, help="Part of the documents to hold out (held_out_fold); repeat for several."),
    ] = None,
    variant: Variants = None,
    override: Overrides = None,
    out: Out = None,
) -> None:
    """Train or pre-train variants of a configuration, and score them on held-out documents or pages.

    Results of pre-training are added to those in --out: variants, and seeds of variants.
    """
    configure_runtime(training=True)
    from formnet.training.config import FineTuning, PreTraining, is_pretraining, load_settings
    from formnet.training.experiments.compare import HELD_OUT_DOCUMENTS, read_variants
    from formnet.training.experiments.compare import compare as run_experiment
    from formnet.training.experiments.compare_pretraining import compare_pretraining, merge_seeds, read_earlier
    from formnet.training.experiments.rows import choose_variants, merge_rows, read_earlier_rows

    is_pretraining_run, seeds = is_pretraining(config), seed or [0]
    if is_pretraining_run and test is not None:
        raise typer.BadParameter("pre-training is scored on held-out pages.", param_hint="--test")
    if fold and (is_pretraining_run or test is not None):
        raise typer.BadParameter("only training that is scored on held-out documents has folds.", param_hint="--fold")
    available = read_variants(variants)
    named = {name: available[name] for name in choose_variants(variant or (), available)}
    settings: PreTraining | FineTuning
    if is_pretraining_run:
        settings = load_settings(PreTraining, config, override or ())
        earlier = read_earlier(out, settings, seeds)
        result = merge_seeds(compare_pretraining(config, named, seeds, override or ()), earlier)
    else:
        settings = load_settings(FineTuning, config, override or ())
        conditions = {"seeds": seeds, "folds": fold or None, "judged_on": test or HELD_OUT_DOCUMENTS}
        earlier = read_earlier_rows(out, settings, **conditions) if variant else None
        result = run_experiment(config, named, seeds, test, override or (), fold or ())
        result = merge_rows(result, earlier, lambda row: row["variant"])
    _output({"config": settings.model_dump(mode="json"), **result}, out)


def ablate(
    config: Config,
    test: Test,
    seed: Seeds = None,
    trained_in: Annotated[
        list[ReadingOrder] | None, typer.Option(help="Reading order for training; repeat for several. Default: given.")
    ] = None,
    order: Annotated[
        list[ReadingOrder] | None, typer.Option(help="Reading order for scoring; repeat for several. Default: all.")
    ] = None,
    variant: Variants = None,
    pretrained: Annotated[
        Path | None,
        typer.Option(help="Output folder of `formnet compare` with the same variants in pre-training, to start from."),
    ] = None,
    override: Overrides = None,
    out: Out = None,
) -> None:
    """Train with and without Rich Attention and super-tokens, as in the paper's ablation, in several reading orders."""
    configure_runtime(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.experiments.ablation import VARIANTS
    from formnet.training.experiments.ablation import ablate as run_experiment
    from formnet.training.experiments.rows import choose_variants, merge_rows, read_earlier_rows

    run = load_settings(FineTuning, config, override or ())
    trained, scored = _orders(trained_in or [ReadingOrder.given]), _orders(order or list(ReadingOrder))
    seeds = seed or [0]
    named = choose_variants(variant or (), VARIANTS)
    earlier = read_earlier_rows(out, run, test=test, seeds=seeds) if variant else None
    result = run_experiment(run, test, seeds, trained, scored, named, pretrained)
    result = merge_rows(result, earlier, lambda row: (row["variant"], row["trained_in"]))
    _output({"config": run.model_dump(mode="json"), **result}, out)


def learning_curve(
    config: Config,
    test: Test,
    documents: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Number of training documents; repeat for several. Default: 10, 25, 50 and 100."),
    ] = None,
    seed: Seeds = None,
    override: Overrides = None,
    out: Out = None,
) -> None:
    """Train on subsets of the documents and on all of them, and score each on test documents.

    A file with other curves keeps them: those of other test documents, and of models that start from other weights.
    """
    configure_runtime(training=True)
    from formnet.training import FineTuning, load_settings
    from formnet.training.experiments.learning_curve import learning_curve as run_experiment
    from formnet.training.experiments.rows import merge_rows, read_rows

    run = load_settings(FineTuning, config, override or ())
    result = run_experiment(run, test, documents or [10, 25, 50, 100], seed or [0])
    result["rows"][0]["config"] = run.model_dump(mode="json")
    _output(merge_rows(result, read_rows(out), lambda row: (row["test"], row["init"])), out)


def _orders(chosen: list[ReadingOrder]) -> list["Order"]:
    return [order.value for order in chosen]


def _output(result: dict[str, Any], out: Path | None) -> None:
    write_results(result, out)
    print_json(result)
