"""Running commands in this process."""

from typer import Typer
from typer.testing import CliRunner

from formnet.cli import app as formnet_app

runner = CliRunner()


def run_command(*arguments: str, app: Typer = formnet_app) -> str:
    """Run a command that must succeed, and return what it prints."""
    result = runner.invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def run_for_stdout(*arguments: str, app: Typer = formnet_app) -> str:
    """Run a command that must succeed, and return its standard output without standard error."""
    result = runner.invoke(app, list(arguments), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout
