"""`formnet bulk`: an archive through a model, on one machine or on a Ray cluster."""

import json
from typing import Annotated

import typer

from formnet.cli.options import AsJson, DayFirst, Ocr, size


def bulk(
    source: Annotated[
        str,
        typer.Argument(metavar="INPUT", help="A folder, glob, list of paths (.txt), JSONL, Parquet; a path or a URL."),
    ],
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="A folder for the parts; a path or a URL.")],
    model: Annotated[
        str, typer.Option(help="A shipped model's name, a folder that formnet train wrote, or a Hub repository.")
    ] = "receipts",
    ocr: Ocr = "auto",
    shard: Annotated[int, typer.Option(min=1, help="Documents to a part: the unit of work and of retry.")] = 256,
    workers: Annotated[int | None, typer.Option(min=1, help="Networks at work; else one a core.")] = None,
    readers: Annotated[int | None, typer.Option(min=1, help="Shards being read; else one a core for files.")] = None,
    seconds: Annotated[
        float, typer.Option("--seconds-per-document", min=0.1, help="What takes longer is given up.")
    ] = 120.0,
    memory: Annotated[
        int, typer.Option("--memory-per-document", metavar="SIZE", parser=size, help="What reading a file may take.")
    ] = "2GiB",  # type: ignore[assignment] # the parser makes it a number
    warm_up: Annotated[bool, typer.Option(help="Compile networks first: faster, half a minute later.")] = True,
    min_score: Annotated[
        float, typer.Option(min=0, max=1, help="Fields less sure than this are marked for review.")
    ] = 0.0,
    day_first: DayFirst = None,
    as_json: AsJson = False,
) -> None:
    """Extract from an archive into Parquet; run it again after any interruption and only what is missing is done."""
    from importlib.util import find_spec

    from formnet.errors import SettingsError

    if find_spec("ray") is None:
        raise SettingsError("bulk work needs Ray; run pip install 'formnet[scale]'.")
    from formnet.scale.bulk.read_stage import Limits
    from formnet.scale.bulk.run import Bulk, run, to_json

    limits = Limits(seconds, memory)
    asked = Bulk(source, output, model, ocr, shard, min_score, day_first, limits, workers, readers, warm_up)
    try:
        summary = run(asked)
    except KeyboardInterrupt:
        typer.echo("formnet: stopped; run the same command again to go on.", err=True)
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(to_json(summary), indent=2))
        return
    if summary.shards_before:
        typer.echo(f"{summary.shards_before:,} of {summary.shards:,} parts were there already")
    typer.echo(
        f"{summary.documents:,} documents, {summary.errors:,} with errors, "
        f"{summary.documents_per_second:,.1f} a second after {summary.startup_seconds:.1f} s to start: {output}"
    )
