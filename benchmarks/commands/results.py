"""Scores of shipped models, and tables and plots of the docs."""

import json
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.commands.options import TestCorpus
from formnet.cli.options import Model, Ocr, TypedCorpora, split_types
from formnet.cli.results import Out, configure_runtime, print_json, write_results


def straight_through(
    model: Model,
    record: Annotated[
        Path, typer.Argument(metavar="FILE", help="Record of formnet calibrate, as in results/calibration.json.")
    ],
    corpora: Annotated[list[str], typer.Argument(metavar="CORPUS...", help="Corpora of test documents.")],
    out: Out = None,
) -> None:
    """Count test documents that need no review, at thresholds from the held-out documents of a calibration."""
    configure_runtime()
    from benchmarks.straight_through import benchmark

    result = benchmark(model, record, corpora)
    write_results(result, out)
    print_json(result)


def reference_lists(
    model: Model,
    known: Annotated[str, typer.Argument(metavar="KNOWN", help="Corpus whose values form the reference list.")],
    corpus: TestCorpus,
    field: Annotated[str, typer.Option(help="The field to match.")] = "merchant.name",
    readings: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="Words of its images, as formnet data read writes.")
    ] = None,
    out: Out = None,
) -> None:
    """Measure what a reference list of known values adds, and how often it matches a value that is not in it."""
    configure_runtime()
    from benchmarks.reference_lists import benchmark
    from formnet.datasets import open_corpus_for
    from formnet.extraction.extractor import Extractor
    from formnet.training.data import load_readings

    extractor = Extractor.from_pretrained(model)
    listed, documents = (list(open_corpus_for(extractor.labels, spec)) for spec in (known, corpus))
    if readings:
        documents = load_readings(documents, readings)
    record = {"model": model, "known": known, "corpus": corpus, **benchmark(extractor, listed, documents, field)}
    write_results(record, out)
    print_json(record)


def us_receipts(
    model: Model,
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Folder with labels.jsonl and images.")],
    readings: Annotated[Path, typer.Option(metavar="FILE", help="JSONL file for the words that the engine reads.")],
    ocr: Ocr = "rapidocr",
    out: Out = None,
) -> None:
    """Score merchant, date, time, tax and total on photos of US receipts, which are for evaluation only."""
    configure_runtime()
    from benchmarks.us_receipts import benchmark
    from formnet.io.ocr import find_engine

    record = benchmark(model, folder, find_engine(ocr), readings)
    write_results(record, out)
    print_json(record)


def records(model: Model, corpus: TestCorpus, out: Out = None) -> None:
    """Score structured output on a corpus with known values: header fields by path, and complete line items."""
    configure_runtime()
    from benchmarks.records import benchmark

    record = benchmark(model, corpus)
    write_results(record, out)
    print_json(record)


def compare_models(
    models: Annotated[list[str], typer.Option("--model", metavar="MODEL", help="Model; repeat for several.")],
    corpora: Annotated[list[str], typer.Argument(metavar="CORPUS...", help="Corpora with known values.")],
    schema: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="JSON file that arranges their labels.")],
    out: Out = None,
) -> None:
    """Score header fields of several models on the same corpora."""
    configure_runtime()
    from benchmarks.records import compare_models as benchmark
    from formnet.extraction.schema import Schema

    result = benchmark(models, corpora, Schema.read(schema))
    write_results(result, out)
    print_json(result)


def before(
    earlier: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Results of an earlier model.")],
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="Results to add its scores to.")],
) -> None:
    """Add the scores of an earlier model to the results of the present one, as `before`."""
    from benchmarks.before import add_before

    record, old = (json.loads(path.read_text(encoding="utf-8")) for path in (file, earlier))
    try:
        record = add_before(record, old)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    file.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def document_types(model: Model, documents: TypedCorpora, out: Out = None) -> None:
    """Measure how often a model recognizes the types of documents."""
    configure_runtime()
    from benchmarks.document_types import benchmark

    record = benchmark(model, split_types(documents))
    write_results(record, out)
    print_json(record)


def real_invoices(
    model: Model,
    samples: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Folder with sample invoices.")],
    invoice2data: Annotated[
        Path, typer.Argument(exists=True, file_okay=False, help="Folder with the PDF and JSON files of invoice2data.")
    ],
    values: Annotated[
        Path, typer.Option(exists=True, dir_okay=False, help="JSON file with the values of the samples.")
    ] = Path("tests/sample_invoices.json"),
    ocr: Ocr = "rapidocr",
    out: Out = None,
) -> None:
    """Score structured output on real invoices, and list the values that came out wrong."""
    configure_runtime()
    from benchmarks.real_invoices import benchmark, read_invoice2data, read_samples
    from formnet.io.ocr import find_engine

    files = {"samples": read_samples(samples, values), "invoice2data": read_invoice2data(invoice2data)}
    record = benchmark(model, files, find_engine(ocr))
    write_results(record, out)
    print_json(record)


def graph_use(
    pairs: Annotated[
        list[str],
        typer.Argument(metavar="MODEL=CORPUS...", help="As in receipts=cord:data/cord@dev, not test documents."),
    ],
    out: Out = None,
) -> None:
    """Score models with their graph as it is and edited, to see what they use it for.

    Scores are F1, or the masked-language accuracy of a pre-trained model.
    """
    configure_runtime()
    from benchmarks.graph_use import benchmark

    result = {"rows": [benchmark(*pair.split("=", 1)) for pair in pairs]}
    write_results(result, out)
    print_json(result)


def results(
    check: Annotated[
        bool, typer.Option("--check", help="Write nothing; exit with 1 if a table is out of date.")
    ] = False,
    root: Annotated[Path, typer.Option(help="Root of the repository.")] = Path(),
) -> None:
    """Regenerate the tables in the README and the docs from results/*.json."""
    from benchmarks.tables import refresh

    stale = [(file, new) for file, old, new in refresh(root) if new != old]
    for file, new in stale:
        typer.echo(f"{file}: {'tables are out of date. Run python -m benchmarks results.' if check else 'updated'}")
        if not check:
            file.write_text(new, encoding="utf-8")
    if check and stale:
        raise typer.Exit(1)


def figures(
    results: Annotated[Path, typer.Option(help="Folder with results.")] = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder for images.")] = Path("docs/images"),
) -> None:
    """Draw the plots of the docs from results/*.json: learning curve, ablation, pre-training, reliability."""
    from benchmarks.plots import draw_results

    for file in draw_results(results, out):
        typer.echo(str(file))
