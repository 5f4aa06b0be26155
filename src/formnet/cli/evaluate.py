"""`formnet evaluate`, `end-to-end` and `label`: a trained model against documents."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from formnet.cli.figures import Orders, Out, prepare, print_json, write_figures
from formnet.cli.options import AsJson, CorpusSpec, Model, ReadingOrder


def evaluate(
    model: Model,
    corpus: CorpusSpec,
    order: Orders = None,
    pictures: Annotated[
        Path | None, typer.Option(help="A folder for pictures: reliability, and a page per document with mistakes.")
    ] = None,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Score a trained model: entities, words, fields, calibration."""
    prepare()
    from formnet.datasets import open_corpus
    from formnet.datasets.alignment import with_entities
    from formnet.evaluation.evaluate import judge, report, unknown_labels
    from formnet.extraction.extractor import Extractor

    extractor = Extractor.from_pretrained(model)
    # A value that was learned everywhere is right wherever it stands.
    occurrences: Literal["best", "all"] = "all" if extractor.model.config.everywhere else "best"
    results: dict[str, Any] = {}
    for name in order or [ReadingOrder.given]:
        opened = open_corpus(corpus, name.value)
        judged, scheme = judge(extractor, with_entities(opened, occurrences))
        results[name.value] = report(judged, scheme)
        unknown = unknown_labels(judged, {*scheme.entity_types, *opened.untagged})
        if unknown:
            labels = ", ".join(f"{label} ({count:,})" for label, count in unknown.items())
            typer.echo(f"{model} does not know, and is not scored by: {labels}", err=True)
            results[name.value]["unknown_labels"] = unknown
        if pictures is not None:
            from formnet.evaluation.pictures import draw_all

            count = draw_all(judged, results[name.value], pictures / name.value)
            typer.echo(f"{count} pictures in {pictures / name.value}", err=True)
    told = {"model": model, "corpus": corpus, "orders": results}
    write_figures(told, out)
    if as_json:
        print_json(told)
    else:
        _table(told)


def end_to_end(
    model: Model,
    corpus: CorpusSpec,
    ocr: Annotated[
        list[str] | None, typer.Option(help="An OCR engine; give it several times. Else all installed.")
    ] = None,
    out: Out = None,
) -> None:
    """Score fields from the pictures of a corpus, with each OCR engine and with the corpus's own words."""
    prepare()
    from formnet.datasets import open_corpus
    from formnet.evaluation.end_to_end import end_to_end as measure
    from formnet.extraction.extractor import Extractor
    from formnet.io.ocr import ENGINES, find_engine, is_installed

    opened = open_corpus(corpus)
    documents = [d for d in opened if d.fields and len(d.pages) == 1 and d.pages[0].image is not None]
    if not documents:
        raise typer.BadParameter(f"{corpus}: no document has both a picture and keyed-in values")
    extractor = Extractor.from_pretrained(model)
    head = extractor.head_for(opened.entity_types or [name for d in documents for name in d.fields])
    engines = [find_engine(name) for name in (ocr or [name for name in ENGINES if is_installed(name)])]
    told = {"model": model, "corpus": corpus, **measure(extractor, documents, engines, head)}
    write_figures(told, out)
    print_json(told)


def label(
    model: Model,
    corpus: CorpusSpec,
    output: Annotated[Path, typer.Argument(help="A file to write: .jsonl, .jsonl.gz, .parquet or .label-studio.json.")],
    least: Annotated[
        float,
        typer.Option("--drop-below", min=0, max=1, help="Leave out what is less likely; below 0.3 all is."),
    ] = 0.0,
    sure: Annotated[
        float,
        typer.Option(min=0, max=1, help="Leave out documents without entities, or with less likely ones on average."),
    ] = 0.0,
    most: Annotated[int | None, typer.Option("--documents", min=1, help="Look at so many and stop.")] = None,
) -> None:
    """Write a corpus with what a model finds in it: for people to mend, or for another model to learn from."""
    prepare()
    from itertools import islice

    from formnet.datasets import open_corpus
    from formnet.extraction.extractor import Extractor, mean_score
    from formnet.io.writers import write

    extractor = Extractor.from_pretrained(model)
    labeled = extractor.label(islice(open_corpus(corpus), most), least)
    found = (document for document in labeled if not sure or mean_score(document) >= sure)
    count = write(found, output, model_version=model)  # guesses, which Label Studio keeps apart from what people say
    typer.echo(f"{count} documents → {output}")


def _table(result: dict[str, Any]) -> None:
    for order, scores in result["orders"].items():
        for kind in ("entities", "fields"):
            if kind not in scores:
                continue
            part = scores[kind]
            low, high = part["interval"]
            typer.echo(f"{kind}, {order} order, {scores['documents']} documents")
            for label, row in [*part["per_type"].items(), ("all", part)]:
                shares = "  ".join(f"{row[name]:7.2%}" for name in ("precision", "recall", "f1"))
                typer.echo(f"  {label:24} {shares}   {row['right']:,} of {row['gold']:,}")
            typer.echo(f"  F1 between {low:.2%} and {high:.2%} (95 %, other documents)")
        calibration = scores["calibration"]
        passing = calibration["at_99_percent_precision"]
        typer.echo(
            f"  calibration error {calibration['ece']:.3f}; {passing['share']:.0%} of entities are surer than "
            f"{passing['threshold']:.3f}, and 99 % of those are right"
        )
