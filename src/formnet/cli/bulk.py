"""`formnet bulk`: extract from many documents, on one machine or on a Ray cluster."""

import json
from typing import Annotated

import typer

from formnet.cli.options import AsJson, DayFirst, MinScore, ModelOption, Ocr, References, parse_size


def bulk(
    source: Annotated[
        str,
        typer.Argument(
            metavar="INPUT", help="Folder, glob, list of paths (.txt), JSONL or Parquet file; a path or a URL."
        ),
    ],
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="Folder for the output; a path or a URL.")],
    model: ModelOption = "auto",
    ocr: Ocr = "auto",
    shard: Annotated[int, typer.Option(min=1, help="Documents per part, the unit of work and of retry.")] = 256,
    workers: Annotated[int | None, typer.Option(min=1, help="Number of models. Default: one per core.")] = None,
    readers: Annotated[
        int | None, typer.Option(min=1, help="Shards read concurrently. Default: one per core for files.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=0.1, help="Maximum seconds per document.")] = 120.0,
    memory: Annotated[
        int,
        typer.Option(
            "--memory-per-document", metavar="SIZE", parser=parse_size, help="Maximum memory for reading a file."
        ),
    ] = "2GiB",  # type: ignore[assignment] # the parser converts it
    warm_up: Annotated[
        bool,
        typer.Option(help="Compile the model first: faster extraction, but a later start (minutes the first time)."),
    ] = True,
    min_score: MinScore = 0.0,
    day_first: DayFirst = None,
    reference: References = None,
    as_json: AsJson = False,
) -> None:
    """Extract from many documents into Parquet. After an interruption, run it again to process the rest."""
    from importlib.util import find_spec

    from formnet.errors import SettingsError

    if find_spec("ray") is None:
        raise SettingsError("bulk extraction requires Ray. Run pip install 'formnet[scale]'.")
    from formnet.extraction.references import ReferenceList
    from formnet.scale.bulk.read_stage import DocumentLimits
    from formnet.scale.bulk.run import BulkConfig, run, to_json

    config = BulkConfig(
        source,
        output,
        model,
        ocr=ocr,
        shard=shard,
        min_score=min_score,
        day_first=day_first,
        references=tuple(map(ReferenceList.read, reference or ())),
        limits=DocumentLimits(timeout, memory),
        workers=workers,
        readers=readers,
        warm_up=warm_up,
    )
    try:
        summary = run(config)
    except KeyboardInterrupt:
        typer.echo("formnet: interrupted. Run the same command again to resume.", err=True)
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps(to_json(summary), indent=2))
        return
    if summary.shards_before:
        typer.echo(f"{summary.shards_before:,} of {summary.shards:,} parts already existed")
    typer.echo(
        f"{summary.documents:,} documents, {summary.errors:,} with errors, "
        f"{summary.documents_per_second:,.1f} per second after {summary.startup_seconds:.1f} s to start: {output}"
    )
