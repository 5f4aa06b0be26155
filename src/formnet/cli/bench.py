"""`formnet bench`: speed, as ratios to the bare engine in the same run."""

import json
from typing import Annotated

import typer

from formnet.cli.options import AsJson

app = typer.Typer(help="Measure speed, as ratios to the bare engine in the same run.", no_args_is_help=True)


@app.callback()
def root() -> None:
    """Measure speed, as ratios to the bare engine in the same run."""


@app.command()
def graph(
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="Whose pages to build graphs of.")],
    repeats: Annotated[int, typer.Option(min=1, help="How often to go through the corpus.")] = 15,
    as_json: AsJson = False,
) -> None:
    """Build graphs with features, against scipy's Delaunay on the same points; then growth up to 100,000 points."""
    from formnet.benchmarks.graph import benchmark
    from formnet.provenance import provenance

    result = benchmark(corpus, repeats)
    if as_json:
        typer.echo(json.dumps({**provenance(corpus=corpus, repeats=repeats), **result}, indent=2))
        return
    low, high = result["ratio_spread"]
    typer.echo(
        f"whole graph with features ÷ bare Delaunay: {result['ratio_to_delaunay']:.2f} ({low:.2f} to {high:.2f})"
    )
    for count, seconds in zip(result["points"], result["seconds"], strict=True):
        typer.echo(f"{count:>9,} points  {seconds:8.3f} s  {seconds / count * 1e6:6.2f} µs a point")
