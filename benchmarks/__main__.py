"""`python -m benchmarks NAME`: measure speed and memory, and generate the tables and plots of the docs."""

import typer

from benchmarks.commands import results, service, speed
from formnet.cli import run

app = typer.Typer(
    name="python -m benchmarks",
    help="Measure speed and memory, and generate the tables and plots of the docs.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def root() -> None:
    """Measure speed and memory, and generate the tables and plots of the docs."""


for command in (
    speed.graph,
    speed.attention,
    speed.parameters,
    speed.model,
    speed.extract,
    speed.bulk,
    speed.growth,
    speed.export,
    speed.ocr_cost,
    service.serve,
    service.overload,
    service.attacks,
    service.hostile_folder,
    service.hot_folder,
    service.new_user,
    service.worst_request,
    service.chaos,
    results.straight_through,
    results.reference_lists,
    results.us_receipts,
    results.records,
    results.compare_models,
    results.before,
    results.document_types,
    results.real_invoices,
    results.graph_use,
    results.results,
    results.figures,
):
    app.command()(command)

if __name__ == "__main__":
    run(app)
