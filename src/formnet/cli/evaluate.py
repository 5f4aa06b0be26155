"""`formnet evaluate`, `evaluate-ocr` and `label`: run a trained model on a corpus."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from formnet.cli.options import AsJson, CorpusSpec, ImageFolder, ImageView, Model, ReadingOrder
from formnet.cli.results import Orders, Out, configure_runtime, print_json, write_results

if TYPE_CHECKING:
    from formnet.document import Document


def evaluate(
    model: Model,
    corpus: CorpusSpec,
    order: Orders = None,
    training: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CORPUS",
            help="Training corpus, whose near-duplicates are left out in a second score; repeat for several.",
        ),
    ] = None,
    error_pages: Annotated[
        Path | None,
        typer.Option(help="Folder for images: a reliability diagram, and each page with missed or spurious entities."),
    ] = None,
    graph_use: Annotated[
        bool, typer.Option("--graph-use", help="Score again without messages, and with edges shuffled or featureless.")
    ] = False,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate a trained model: entity, word and field scores, and calibration."""
    configure_runtime()
    from formnet.datasets import open_corpus, open_corpus_for
    from formnet.datasets.alignment import with_entities
    from formnet.datasets.near_duplicates import near_duplicates
    from formnet.evaluation.evaluate import compute_metrics_without, headline_f1, predict_and_compare, unknown_labels
    from formnet.extraction.extractor import Extractor

    extractor = Extractor.from_pretrained(model)
    # A model trained on all occurrences of a value may predict any of them.
    occurrences: Literal["best", "all"] = "all" if extractor.model.config.get_task().label_all_occurrences else "best"
    seen = (document for spec in training or () for document in open_corpus(spec))
    duplicates = near_duplicates(open_corpus(corpus), seen) if training else set()
    by_order: dict[str, Any] = {}
    for reading_order in order or [ReadingOrder.given]:
        opened = open_corpus_for(extractor.labels, corpus, reading_order.value)
        name = str(reading_order.value)
        evaluated = predict_and_compare(extractor, with_entities(opened, occurrences))
        by_order[name] = compute_metrics_without(evaluated, duplicates)
        unknown = unknown_labels(evaluated.documents, {*evaluated.scheme.entity_types, *opened.untagged})
        if unknown:
            labels = ", ".join(f"{label} ({count:,})" for label, count in unknown.items())
            typer.echo(f"{model}: labels that the model does not have are not scored: {labels}", err=True)
            by_order[name]["unknown_labels"] = unknown
        if error_pages is not None:
            from formnet.evaluation.error_pages import draw_error_pages

            count = draw_error_pages(evaluated.documents, by_order[name], error_pages / name)
            typer.echo(f"{error_pages / name}: {count} images written", err=True)
    first = next(iter(by_order.values()))
    record = {"model": model, "corpus": corpus, "f1": headline_f1(first), "orders": by_order}
    if graph_use:
        from formnet.evaluation.graph_use import graph_use as measure_graph_use

        record["graph_use"] = measure_graph_use(
            extractor, with_entities(open_corpus_for(extractor.labels, corpus), occurrences)
        )
    if training:
        record["training"] = {"corpora": training, "near_duplicates": len(duplicates)}
    write_results(record, out)
    if as_json:
        print_json(record)
    else:
        _print_table(record)


def evaluate_ocr(
    model: Model,
    corpus: CorpusSpec,
    ocr: Annotated[
        list[str] | None, typer.Option(help="OCR engine; repeat for several. Default: all installed engines.")
    ] = None,
    view: Annotated[
        list[ImageView] | None,
        typer.Option(help="Transformation of page images before OCR; repeat for several. Default: upright."),
    ] = None,
    images: ImageFolder = None,
    readings: Annotated[
        Path | None,
        typer.Option(
            file_okay=False,
            help="Folder for the words that engines read, which are used again if the command is repeated.",
        ),
    ] = None,
    out: Out = None,
) -> None:
    """Measure the effect of OCR on field scores: page images read by each engine against the words of the corpus."""
    configure_runtime()
    from tempfile import TemporaryDirectory

    from formnet.datasets import open_corpus_for
    from formnet.datasets.ocr_words import find_images, read_images
    from formnet.evaluation.ocr_impact import LOSS_CAUSES, OcrEvaluation
    from formnet.extraction.extractor import Extractor
    from formnet.io.ocr import ENGINES, find_engine, is_installed

    extractor = Extractor.from_pretrained(model)
    opened = open_corpus_for(extractor.labels, corpus)
    documents = [document for document in find_images(opened, images) if document.fields]
    if not documents:
        raise typer.BadParameter(
            f"{corpus}: no document with page images and field values. Use --images, another corpus or another split."
        )
    head = extractor.head_for(opened.entity_types or [name for d in documents for name in d.fields])
    evaluation = OcrEvaluation(extractor, documents, head)
    engines: dict[str, dict[str, Any]] = {}
    with TemporaryDirectory() as temporary:
        for name in ocr or [name for name in ENGINES if is_installed(name)]:
            engine, folder = find_engine(name), readings or Path(temporary)
            upright: dict[str, Document] = {}
            for each in view or [ImageView.upright]:
                file = folder / f"{name.replace(':', '-')}-{each.value}.jsonl"
                recognized = list(read_images(documents, engine, file, each.value, upright))
                if each is ImageView.upright:
                    upright = {document.id: document for document in recognized}
                row = engines.setdefault(name, {"engine": engine.name, "views": {}})
                row["views"][each.value] = evaluation.score(recognized)
    record = {
        "model": model,
        "corpus": corpus,
        "documents": len(documents),
        "corpus_words": evaluation.score_corpus_words(),
        "engines": engines,
        "losses": LOSS_CAUSES,
    }
    write_results(record, out)
    print_json(record)


def label(
    model: Model,
    corpus: CorpusSpec,
    output: Annotated[Path, typer.Argument(help="File to write: .jsonl, .jsonl.gz, .parquet or .label-studio.json.")],
    drop_below: Annotated[
        float,
        typer.Option(
            "--drop-below",
            min=0,
            max=1,
            help="Drop entities with a lower confidence; those below 0.3 are always dropped.",
        ),
    ] = 0.0,
    min_mean_score: Annotated[
        float,
        typer.Option(
            "--min-mean-score",
            min=0,
            max=1,
            help="Drop documents with a lower mean confidence, and those without entities.",
        ),
    ] = 0.0,
    max_documents: Annotated[
        int | None, typer.Option("--documents", min=1, help="Maximum documents to read from the corpus.")
    ] = None,
) -> None:
    """Write a corpus with the entities that a model predicts, for correction or as training data."""
    configure_runtime()
    from itertools import islice

    from formnet.datasets import open_corpus
    from formnet.extraction.extractor import Extractor, mean_score
    from formnet.io.writers import write

    extractor = Extractor.from_pretrained(model)
    labeled = extractor.annotate(islice(open_corpus(corpus), max_documents), drop_below)
    kept = (document for document in labeled if not min_mean_score or mean_score(document) >= min_mean_score)
    count = write(kept, output, model_version=model)  # Label Studio then shows them as predictions, not annotations
    typer.echo(f"{count} documents → {output}")


def _print_table(record: dict[str, Any]) -> None:
    for name, f1 in record.get("graph_use", {}).items():
        typer.echo(f"graph {name.replace('_', ' '):22} F1 {f1:.2%}")
    for order, scores in record["orders"].items():
        for kind in ("entities", "fields"):
            if kind not in scores:
                continue
            part = scores[kind]
            low, high = part["interval"]
            typer.echo(f"{kind}, {order} order, {scores['documents']} documents: precision, recall, F1, correct / gold")
            for label, row in [*part["per_type"].items(), ("all", part)]:
                shares = "  ".join(f"{row[name]:7.2%}" for name in ("precision", "recall", "f1"))
                typer.echo(f"  {label:24} {shares}   {row['right']:,} / {row['gold']:,}")
            typer.echo(f"  95 % bootstrap interval of F1: {low:.2%} to {high:.2%}")
        calibration = scores["calibration"]
        typer.echo(f"  expected calibration error {calibration['ece']:.3f}")
        if "accepted" in calibration:
            accepted = calibration["accepted"]
            coverage, precision = accepted["coverage"], accepted["precision"]
            typer.echo(
                f"  accepted at a nominal {accepted['nominal_precision']:.0%}: {coverage['share'] or 0:.0%} of "
                f"entities, of which {precision['right']:,} of {precision['of']:,} are correct"
            )
