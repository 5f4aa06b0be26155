"""The command line. Nothing heavy is imported before a command runs, so that `--help` answers at once."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from formnet.cli import bench, bulk, data, doctor, evaluate, experiments, extract, models, serve, train, view

app = typer.Typer(
    name="formnet",
    help="Fields out of forms, receipts and invoices.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    extract.extract,
    models.compact,
    models.export,
    doctor.doctor,
    serve.serve,
    train.train,
    train.pretrain,
    evaluate.evaluate,
    evaluate.end_to_end,
    evaluate.label,
    experiments.experiment,
    experiments.compare,
    experiments.ablate,
    experiments.curve,
    experiments.hours,
    bulk.bulk,
):
    app.command()(command)
app.add_typer(data.app, name="data")
app.add_typer(view.app, name="view")
app.add_typer(bench.app, name="bench")


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Fields out of forms, receipts and invoices."""
    if version:
        from formnet import __version__

        typer.echo(f"formnet {__version__}")
        raise typer.Exit


@app.command()
def results(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if a table is not what results say.")
    ] = False,
    root: Annotated[Path, typer.Option(help="The source tree.")] = Path(),
) -> None:
    """Write the tables in README and docs anew from results/*.json."""
    from formnet.results import refresh

    stale = [(file, new) for file, old, new in refresh(root) if new != old]
    for file, new in stale:
        typer.echo(f"{file}: {'is not what the results say; run formnet results' if check else 'written anew'}")
        if not check:
            file.write_text(new, encoding="utf-8")
    if check and stale:
        raise typer.Exit(1)


def main() -> None:
    """Run the command line; what a user got wrong is one line, not a traceback."""
    from formnet.errors import FormNetError

    try:
        app()
    except (FormNetError, OSError) as error:  # what a user got wrong, or the disk
        typer.echo(f"formnet: {error}", err=True)
        sys.exit(2)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "formnet":
            raise
        typer.echo(f"formnet: this needs {error.name}, which is not installed; formnet doctor says more.", err=True)
        sys.exit(2)
