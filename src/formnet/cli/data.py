"""`formnet data`: inspect, validate, convert, read, align and generate corpora."""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formnet.cli.options import AsJson, CorpusSpec, CorpusSpecs, ImageFolder, Ocr, OrderOption, ReadingOrder, Seed
from formnet.cli.results import print_json

if TYPE_CHECKING:
    from formnet.datasets import Corpus
    from formnet.datasets.inspection import AlignmentReport, Statistics

app = typer.Typer(help="Inspect, validate, convert, read, align and generate corpora.", no_args_is_help=True)


@app.command()
def stats(corpus: CorpusSpec, order: OrderOption = ReadingOrder.given, as_json: AsJson = False) -> None:
    """Count documents, words, entities and repairs per split."""
    from formnet.datasets.inspection import statistics

    opened = _open(corpus, order)
    by_split = {split: statistics(opened, split) for split in opened.splits}
    if as_json:
        typer.echo(
            json.dumps({split: counts.to_json() for split, counts in by_split.items()}, indent=2, ensure_ascii=False)
        )
    else:
        _print_statistics(corpus, by_split)


@app.command()
def generate(
    output: Annotated[Path, typer.Argument(help="File to write: .jsonl or .jsonl.gz.")],
    count: Annotated[int, typer.Option(min=1, help="Number of receipts.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Number of the first receipt; each number gives one receipt.")] = 0,
    images: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder for pictures of the receipts, as PNG files.")
    ] = None,
) -> None:
    """Generate synthetic receipts of seven countries with labels and links, for training and tests."""
    import numpy as np

    from formnet.io.writers import write
    from formnet.training.synthetic import generate_receipt
    from formnet.training.synthetic.draw import draw_page

    receipts = (generate_receipt(number) for number in range(seed, seed + count))
    output.parent.mkdir(parents=True, exist_ok=True)
    written = write(receipts, output)
    if images is not None:
        images.mkdir(parents=True, exist_ok=True)
        for number in range(seed, seed + count):
            document = generate_receipt(number)
            draw_page(document.pages[0], np.random.default_rng(number)).save(images / f"{document.id}.png")
    typer.echo(f"{written:,} receipts → {output}")


@app.command()
def validate(
    corpus: CorpusSpec,
    show: Annotated[int, typer.Option(min=0, help="Maximum examples shown per kind of problem.")] = 3,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with status 1 on any problem, including repairs.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Read every document and report problems. Exits with status 1 if a document cannot be read."""
    from formnet.datasets.inspection import validate as validate_split

    opened = _open(corpus)
    findings = [finding for split in opened.splits for finding in validate_split(opened, split)]
    kinds = Counter(finding.kind for finding in findings)
    if as_json:
        typer.echo(json.dumps({"counts": kinds, "findings": [vars(f) for f in findings]}, indent=2, ensure_ascii=False))
    elif not findings:
        typer.echo(f"{corpus}: {len(opened):,} documents, no problems found.")
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
    output: Annotated[Path, typer.Argument(help="Output file: .jsonl, .jsonl.gz, .parquet or .label-studio.json.")],
    order: OrderOption = ReadingOrder.given,
    seed: Seed = 0,
    align_fields: Annotated[bool, typer.Option("--align", help="Add entities for field values by alignment.")] = False,
    images: Annotated[
        str | None, typer.Option(metavar="URL", help="URL prefix of image file names (Label Studio output only).")
    ] = None,
    model_version: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Write entities as predictions of this model (Label Studio output only)."),
    ] = None,
) -> None:
    """Convert a corpus to FormNet JSONL, Parquet or Label Studio tasks."""
    from formnet.datasets.alignment import align
    from formnet.io.writers import SUFFIXES, write

    if not output.name.endswith(SUFFIXES):
        raise typer.BadParameter(f"{output}: unsupported file type. Use {' or '.join(SUFFIXES)}.")
    documents = (align(d).document if align_fields and d.fields else d for d in _open(corpus, order, seed))
    count = write(documents, output, model_version=model_version, images=images)
    typer.echo(f"{count:,} documents → {output}")


@app.command()
def read(
    corpus: CorpusSpec,
    output: Annotated[Path, typer.Argument(dir_okay=False, help="Output file: .jsonl.")],
    ocr: Ocr = "auto",
    images: ImageFolder = None,
) -> None:
    """Read the page images of a corpus by OCR, keeping its field values. Run it again after an interruption."""
    from formnet.datasets.ocr_words import find_images, read_images
    from formnet.io.ocr import find_engine

    if output.suffix != ".jsonl":
        raise typer.BadParameter(f"{output}: unsupported file type. Use .jsonl.")
    documents = find_images(_open(corpus), images)
    if not documents:
        raise typer.BadParameter(f"{corpus}: no document with page images. Use --images or another corpus.")
    words = sum(len(document.texts) for document in read_images(documents, find_engine(ocr), output))
    typer.echo(f"{len(documents):,} documents, {words:,} words → {output}")


@app.command()
def align(
    corpora: CorpusSpecs,
    sample: Annotated[int, typer.Option(min=0, help="Number of random matches shown with context.")] = 0,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Locate field values in the words of their documents; report coverage per field and list values not found."""
    from formnet.datasets.inspection import AlignmentReport

    reports: dict[str, AlignmentReport] = {}
    for corpus in corpora:
        reports[corpus] = report = AlignmentReport()
        for document in _open(corpus):
            report.add(document)
        if not report.fields:
            raise typer.BadParameter(f"{corpus}: the documents have no field values to align.")
    if as_json:
        coverage = {corpus: _alignment_json(report) for corpus, report in reports.items()}
        print_json({"corpora": coverage}, corpora=corpora)
        return
    for corpus, report in reports.items():
        _print_alignment(corpus, report, sample, seed)


@app.command()
def overlap(
    corpus: CorpusSpec,
    other: CorpusSpec,
    show: Annotated[int, typer.Option(min=0, help="Number of most similar pairs shown.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Find near-duplicates between two corpora, such as test documents that are also in the training data."""
    from formnet.datasets.near_duplicates import NEAR_DUPLICATE_SHARE, nearest_documents

    pairs = sorted(nearest_documents(_open(corpus), _open(other)), key=lambda pair: -pair.share)
    same = sum(pair.share >= NEAR_DUPLICATE_SHARE for pair in pairs)
    if as_json:
        counts = {"documents": len(pairs), "same": same, "same_from": NEAR_DUPLICATE_SHARE}
        print_json({**counts, "pairs": [pair._asdict() for pair in pairs]}, corpus=corpus, other=other)
        return
    threshold = f"{NEAR_DUPLICATE_SHARE:.0%}"
    typer.echo(
        f"{same:,} of {len(pairs):,} documents share {threshold} or more of their words with a document of {other}."
    )
    for pair in pairs[:show]:
        typer.echo(f"  {pair.share:4.0%}  {pair.document}  {pair.other or ''}")


def _open(spec: str, order: ReadingOrder = ReadingOrder.given, seed: int = 0) -> "Corpus":
    from formnet.datasets import open_corpus

    return open_corpus(spec, order.value, seed)


def _alignment_json(report: "AlignmentReport") -> dict[str, Any]:
    fields = {name: coverage.to_json() for name, coverage in report.fields.items()}
    return {"all": report.overall.to_json(), "fields": fields}


def _print_statistics(corpus: str, by_split: "dict[str, Statistics]") -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(corpus), title_justify="left")
    table.add_column()
    for split in by_split:
        table.add_column(Text(split), justify="right")

    def row(name: str, values: list[Any], **style: Any) -> None:
        table.add_row(Text(name), *(f"{v:,}" if isinstance(v, int) else v for v in values), **style)

    counts = list(by_split.values())
    for name in ("documents", "pages", "words"):
        row(name, [getattr(c, name) for c in counts])
    for key, name in (("median", "median"), ("most", "maximum")):
        row(f"  {name} per document", [c.words_per_document.get(key, 0) for c in counts], style="dim")
    row("entities", [c.entities for c in counts])
    for label in dict.fromkeys(label for c in counts for label in c.labels):
        length = [f"{c.words_per_entity[label]:.1f}" if label in c.labels else "–" for c in counts]
        cells = [f"{c.labels.get(label, 0):,}  × {n}" for c, n in zip(counts, length, strict=True)]
        row(f"  {label}, × words", cells, style="dim")
    if any(c.scattered_entities for c in counts):
        row("  with non-contiguous words", [c.scattered_entities for c in counts], style="dim")
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
    table = Table("field", "values", "found", "share", "attainable", "method", title=Text(corpus), title_justify="left")
    for name, coverage in [*report.fields.items(), ("all", report.overall)]:
        methods = ", ".join(f"{method} {count:,}" for method, count in coverage.ways.most_common())
        share = f"{coverage.found / coverage.values:.2%}"
        attainable = f"{coverage.attainable / coverage.values:.2%}"
        table.add_row(Text(name), f"{coverage.values:,}", f"{coverage.found:,}", share, attainable, methods)
    console.print(table)
    for miss in report.misses:
        console.print(Text(f"miss  {miss.document}  {miss.field}: {miss.value!r}, closest {miss.closest!r}"))
    for hit in random.Random(seed).sample(report.hits, min(sample, len(report.hits))):  # noqa: S311
        line = Text(f"hit   {hit.document}  {hit.field}: {hit.value!r} → … {hit.before} ")
        line.append(hit.text, "bold green")
        line.append(f" {hit.after} …  ({hit.method}; {hit.reason})")
        console.print(line)
