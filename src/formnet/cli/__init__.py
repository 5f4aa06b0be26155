"""The command line. Nothing heavy is imported before a command runs, so that `--help` answers at once."""

import sys

import typer

from formnet.cli import bulk, data, doctor, evaluate, experiments, extract, models, serve, train, view

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
    bulk.bulk,
):
    app.command()(command)
app.add_typer(data.app, name="data")
app.add_typer(view.app, name="view")


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and stop.")) -> None:
    """Fields out of forms, receipts and invoices."""
    if version:
        from formnet import __version__

        typer.echo(f"formnet {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line."""
    run(app)


def run(app: typer.Typer) -> None:
    """Run a command line; a user error is one line, not a traceback."""
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
