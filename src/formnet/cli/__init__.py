"""The command line. Heavy packages are imported inside commands, so that `--help` is fast."""

import sys

import typer

from formnet.cli import (
    bulk,
    calibrate,
    data,
    doctor,
    evaluate,
    experiments,
    extract,
    mcp,
    models,
    serve,
    train,
    view,
    watch,
)

app = typer.Typer(
    name="formnet",
    help="Extract fields from forms, receipts and invoices.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (
    extract.extract,
    models.quantize,
    models.export,
    models.add_types,
    doctor.doctor,
    serve.serve,
    watch.watch,
    mcp.mcp,
    train.train,
    train.distill,
    train.pretrain,
    evaluate.evaluate,
    evaluate.evaluate_ocr,
    evaluate.label,
    calibrate.calibrate,
    experiments.run_seeds,
    experiments.compare,
    experiments.ablate,
    experiments.learning_curve,
    bulk.bulk,
):
    app.command()(command)
app.add_typer(data.app, name="data")
app.add_typer(view.app, name="view")


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    """Extract fields from forms, receipts and invoices."""
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
    except (FormNetError, OSError) as error:
        typer.echo(f"formnet: {error}", err=True)
        sys.exit(2)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "formnet":
            raise
        typer.echo(f"formnet: {error.name} is not installed. Run formnet doctor for details.", err=True)
        sys.exit(2)
