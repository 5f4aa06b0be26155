"""`formnet data`: look at a corpus, check it, convert it, align its values."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formnet.cli.figures import print_json
from formnet.cli.options import AsJson, CorpusSpec, CorpusSpecs, OrderOption, ReadingOrder, Seed

if TYPE_CHECKING:
    from formnet.datasets import Corpus
    from formnet.datasets.inspection import AlignmentReport, Statistics

app = typer.Typer(help="Look at a corpus, check it, convert it, align its values.", no_args_is_help=True)


@app.command()
def stats(corpus: CorpusSpec, order: OrderOption = ReadingOrder.given, as_json: AsJson = False) -> None:
    """Count documents, words, entities and repairs, a column for each split."""
    from formnet.datasets.inspection import statistics

    opened = _open(corpus, order)
    found = {split: statistics(opened, split) for split in opened.splits}
    if as_json:
        typer.echo(
            json.dumps({split: counts.to_json() for split, counts in found.items()}, indent=2, ensure_ascii=False)
        )
    else:
        _print_statistics(corpus, found)


@app.command()
def validate(
    corpus: CorpusSpec,
    show: Annotated[int, typer.Option(min=0, help="How many examples of each kind to show.")] = 3,
    strict: Annotated[bool, typer.Option("--strict", help="Fail on repairs too, not only on refusals.")] = False,
    as_json: AsJson = False,
) -> None:
    """Read every document and report what was repaired or refused; exit with 1 if anything was refused."""
    from formnet.datasets.inspection import validate as findings_of

    opened = _open(corpus)
    findings = [finding for split in opened.splits for finding in findings_of(opened, split)]
    kinds = Counter(finding.kind for finding in findings)
    if as_json:
        typer.echo(json.dumps({"counts": kinds, "findings": [vars(f) for f in findings]}, indent=2, ensure_ascii=False))
    elif not findings:
        typer.echo(f"{corpus}: {len(opened):,} documents, nothing to mend.")
    else:
        for kind, count in kinds.most_common():
            typer.echo(f"{count:>7,}  {kind}")
            for finding in [f for f in findings if f.kind == kind][:show]:
                typer.echo(f"         {finding.document + ': ' if finding.document else ''}{finding.detail}")
    if any(finding.refused for finding in findings) or (strict and findings):
        raise typer.Exit(1)


@app.command()
def convert(
    corpus: CorpusSpec,
    output: Annotated[
        Path, typer.Argument(help="The file to write: .jsonl, .jsonl.gz, .parquet or .label-studio.json.")
    ],
    order: OrderOption = ReadingOrder.given,
    seed: Seed = 0,
    align_fields: Annotated[bool, typer.Option("--align", help="Make entities of keyed-in values first.")] = False,
    images: Annotated[
        str | None, typer.Option(metavar="URL", help="Label Studio: what stands before the scans' file names.")
    ] = None,
    model_version: Annotated[
        str | None, typer.Option(metavar="NAME", help="Label Studio: entities are this model's guesses, to be checked.")
    ] = None,
) -> None:
    """Write a corpus as our own JSONL, which every command reads, as Parquet, or as tasks for Label Studio."""
    from formnet.datasets.alignment import align
    from formnet.io.writers import SUFFIXES, write

    if not output.name.endswith(SUFFIXES):
        raise typer.BadParameter(f"{output}: the name should end in {' or '.join(SUFFIXES)}")
    documents = (align(d).document if align_fields and d.fields else d for d in _open(corpus, order, seed))
    count = write(documents, output, model_version=model_version, images=images)
    typer.echo(f"{count:,} documents → {output}")


@app.command()
def align(
    corpora: CorpusSpecs,
    sample: Annotated[int, typer.Option(min=0, help="Show this many random hits with their surroundings.")] = 0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Find the words that say each keyed-in value; report coverage by field and list every miss."""
    from formnet.datasets.inspection import AlignmentReport

    reports: dict[str, AlignmentReport] = {}
    for corpus in corpora:
        reports[corpus] = report = AlignmentReport()
        for document in _open(corpus):
            report.add(document)
        if not report.fields:
            raise typer.BadParameter(f"{corpus}: its documents have no keyed-in fields to align")
    if as_json:
        found = {corpus: _alignment_json(report) for corpus, report in reports.items()}
        print_json({"corpora": found}, corpora=corpora)
        return
    for corpus, report in reports.items():
        _print_alignment(corpus, report, sample, seed)


@app.command()
def overlap(
    corpus: CorpusSpec,
    other: CorpusSpec,
    show: Annotated[int, typer.Option(min=0, help="How many of the closest to show.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Find documents of one corpus that another holds too, or nearly: before a test split is trusted."""
    from formnet.datasets.near_duplicates import SAME, closest

    found = sorted(closest(_open(corpus), _open(other)), key=lambda pair: -pair.share)
    same = sum(pair.share >= SAME for pair in found)
    if as_json:
        counts = {"documents": len(found), "same": same, "same_from": SAME}
        print_json({**counts, "pairs": [pair._asdict() for pair in found]}, corpus=corpus, other=other)
        return
    typer.echo(f"{same:,} of {len(found):,} documents share {SAME:.0%} or more of their words with one of {other}.")
    for pair in found[:show]:
        typer.echo(f"  {pair.share:4.0%}  {pair.document}  {pair.other or ''}")


def _open(spec: str, order: ReadingOrder = ReadingOrder.given, seed: int = 0) -> "Corpus":
    from formnet.datasets import open_corpus

    return open_corpus(spec, order.value, seed)


def _alignment_json(report: "AlignmentReport") -> dict[str, Any]:
    fields = {name: coverage.to_json() for name, coverage in report.fields.items()}
    return {"all": report.overall.to_json(), "fields": fields}


def _print_statistics(corpus: str, found: "dict[str, Statistics]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(corpus), title_justify="left")
    table.add_column()
    for split in found:
        table.add_column(Text(split), justify="right")

    def row(name: str, values: list[Any], **style: Any) -> None:
        table.add_row(Text(name), *(f"{v:,}" if isinstance(v, int) else v for v in values), **style)

    counts = list(found.values())
    for name in ("documents", "pages", "words"):
        row(name, [getattr(c, name) for c in counts])
    for name in ("median", "most"):
        row(f"  {name} in a document", [c.words_per_document.get(name, 0) for c in counts], style="dim")
    row("entities", [c.entities for c in counts])
    for label in dict.fromkeys(label for c in counts for label in c.labels):
        length = [f"{c.words_per_entity[label]:.1f}" if label in c.labels else "–" for c in counts]
        cells = [f"{c.labels.get(label, 0):,}  × {n}" for c, n in zip(counts, length, strict=True)]
        row(f"  {label}, × words", cells, style="dim")
    if any(c.scattered_entities for c in counts):
        row("  whose words are not neighbors", [c.scattered_entities for c in counts], style="dim")
    if any(c.links for c in counts):
        row("links", [c.links for c in counts])
    for name in dict.fromkeys(name for c in counts for name in c.fields):
        row(f"field {name}", [c.fields.get(name, 0) for c in counts])
    for kind in dict.fromkeys(kind for c in counts for kind in c.repairs):
        row(f"repair: {kind}", [c.repairs.get(kind, 0) for c in counts], style="yellow")
    Console().print(table)


def _print_alignment(corpus: str, report: "AlignmentReport", sample: int, seed: int) -> None:
    import random

    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    table = Table("field", "values", "found", "share", "how", title=Text(corpus), title_justify="left")
    for name, coverage in [*report.fields.items(), ("all", report.overall)]:
        ways = ", ".join(f"{way} {count:,}" for way, count in coverage.ways.most_common())
        share = f"{coverage.found / coverage.values:.2%}"
        table.add_row(Text(name), f"{coverage.values:,}", f"{coverage.found:,}", share, ways)
    console.print(table)
    for miss in report.misses:
        console.print(Text(f"miss  {miss.document}  {miss.field}: {miss.value!r}, closest {miss.closest!r}"))
    for hit in random.Random(seed).sample(report.hits, min(sample, len(report.hits))):  # noqa: S311
        line = Text(f"hit   {hit.document}  {hit.field}: {hit.value!r} → … {hit.before} ")
        line.append(hit.text, "bold green")
        line.append(f" {hit.after} …  ({hit.how}; {hit.choice})")
        console.print(line)
