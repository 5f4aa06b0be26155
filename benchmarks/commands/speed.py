"""Benchmarks of the model, of extraction and of bulk processing: speed, memory and size."""

from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.commands.options import Repeats, TestCorpus, first_documents
from formnet.cli.options import AsJson, Model
from formnet.cli.results import configure_runtime, print_json


def graph(
    corpus: TestCorpus,
    repeats: Annotated[int, typer.Option(min=1, help="Number of passes over the corpus.")] = 15,
    as_json: AsJson = False,
) -> None:
    """Measure graph construction relative to a Delaunay triangulation, and its growth up to 100,000 words per page."""
    from benchmarks.graph import benchmark

    result = benchmark(corpus, repeats)
    if as_json:
        print_json(result, corpus=corpus, repeats=repeats)
        return
    low, high = result["ratio_spread"]
    typer.echo(
        f"graph with features ÷ Delaunay triangulation: {result['ratio_to_delaunay']:.2f} ({low:.2f} to {high:.2f})"
    )
    for count, seconds in zip(result["points"], result["seconds"], strict=True):
        typer.echo(f"{count:>9,} points  {seconds:8.3f} s  {seconds / count * 1e6:6.2f} µs per point")


def attention(
    repeats: Annotated[int, typer.Option(min=1, help="Number of measurements per length and precision.")] = 15,
    tokens: Annotated[
        list[int] | None, typer.Option(help="Sequence length; repeat for several. Default: 1024, 4096, 16384.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure Rich Attention with a global token relative to scaled dot-product attention within the same radius."""
    from benchmarks.attention import TOKENS, benchmark

    result = benchmark(tuple(tokens or TOKENS), repeats=repeats)
    if as_json:
        print_json(result, repeats=repeats)
        return
    for case in result["cases"]:
        ratios = f"forward × {case['forward_ratio']:.2f}  training × {case['train_ratio']:.2f}"
        typer.echo(f"{case['tokens']:>7,} tokens  {case['dtype']:9}  {ratios}  {case['peak_mb']:6.0f} MB")


def ocr_cost(
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="Folder with images of pages.")],
    pages: Annotated[int, typer.Option(min=1, help="Maximum number of pages.")] = 40,
    cold_starts: Annotated[
        int, typer.Option(min=0, help="Runs of formnet extract per engine; the fastest counts.")
    ] = 2,
    requests: Annotated[int, typer.Option(min=0, help="Requests per engine to a warm service.")] = 5,
    as_json: AsJson = False,
) -> None:
    """Measure the cost of OCR engines with one thread, and the time of one photo with all cores."""
    from benchmarks.ocr_cost import benchmark
    from formnet.io.file_types import detect_file_type
    from formnet.io.readers import find_files

    images = [file for file in find_files(folder) if detect_file_type(file) == "image"][:pages]
    if not images:
        raise typer.BadParameter(f"{folder}: no images found. Use a folder with JPEG, PNG, TIFF or WebP files.")
    result = benchmark(images, cold_starts, requests)
    if as_json:
        print_json(result, pages=pages)
        return
    for row in result["rows"]:
        cost = f"{row['core_seconds_per_page']:6.2f} core-seconds, {row['seconds_per_page']:6.2f} s"
        typer.echo(f"{row['engine']:20} {cost} per page")
    typer.echo(
        f"ratio {result['ratio_to_onnxruntime']:.2f}; same text on {result['same_text']} of {result['pages']} pages"
    )


def parameters(as_json: AsJson = False) -> None:
    """Count the parameters of the named sizes and compare them with the paper."""
    from benchmarks.parameters import count

    result = count()
    if as_json:
        print_json(result)
        return
    for row in result["rows"]:
        counted = f"{row['parameters'] / 1e6:6.1f} M"
        typer.echo(f"{row['name']:13} {counted}  paper {row['published_millions']} M  {row['ratio'] - 1:+.1%}")


def model(
    corpus: Annotated[
        str | None, typer.Argument(metavar="[CORPUS]", help="Corpus of labeled forms, with --train.")
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Measure training steps relative to BERT.")] = False,
    vocabulary: Annotated[str, typer.Option(help="Tokenizer, with --train.")] = "hf://google-bert/bert-base-uncased",
    repeats: Repeats = 5,
    quick: Annotated[
        bool, typer.Option("--quick", help="Measure once, three models on one length only; about two minutes.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure complete models with random weights: FormNet, LayoutLM, BROS, LiLT and LayoutLMv3."""
    from benchmarks.model import QUICK_NAMES, QUICK_TOKENS, inference, training

    repeats = 1 if quick else repeats
    if not train:
        result = inference(QUICK_TOKENS, 1, QUICK_NAMES) if quick else inference(repeats=repeats)
    elif corpus is None:
        raise typer.BadParameter("--train requires a corpus of labeled forms, for example funsd:data/funsd@train.")
    else:
        batches, tags = _training_batches(corpus, vocabulary)
        result = training(batches, tags, repeats)
    if as_json:
        print_json(result, corpus=corpus, train=train, repeats=repeats)
        return
    for row in result.get("rows", []):
        speed = f"{row['docs_per_second']:8.2f} documents/s  {row['peak_mb']:6.0f} MB"
        typer.echo(
            f"{row['name']:11} {row['parameters'] / 1e6:6.1f} M  {row['tokens']:>6,} tokens  {row['dtype']:9} {speed}"
        )
    for name, row in result.get("by_dtype", {}).items():
        typer.echo(f"{name:9}  training step of small ÷ BERT: {row['ratio_to_bert']:.2f}")


def extract(
    model: Model,
    corpus: TestCorpus,
    documents: Annotated[int, typer.Option(min=1, help="Number of documents.")] = 50,
    repeats: Repeats = 3,
    as_json: AsJson = False,
) -> None:
    """Measure extraction relative to the bare model on the same batches."""
    configure_runtime()
    from benchmarks.extract import benchmark
    from formnet.extraction.extractor import Extractor

    chosen = first_documents(corpus, documents)
    result = benchmark(Extractor.from_pretrained(model), chosen, repeats)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, repeats=repeats)
        return
    low, high = result["ratio_spread"]
    typer.echo(f"throughput relative to the bare model: {result['ratio_to_model']:.1%} ({low:.1%} to {high:.1%})")
    low, high = result["structure_to_entities_spread"]
    typer.echo(f"time with structure ÷ entities only: {result['structure_to_entities']:.3f} ({low:.3f} to {high:.3f})")
    for name, milliseconds in result["milliseconds_per_document"].items():
        typer.echo(f"  {name:10} {milliseconds:7.2f} ms per document")


def bulk(
    model: Model,
    corpus: TestCorpus,
    documents: Annotated[int, typer.Option(min=1, help="Number of documents; a smaller corpus is repeated.")] = 2000,
    repeats: Repeats = 3,
    shard: Annotated[int, typer.Option(min=1, help="Documents per shard.")] = 64,
    as_json: AsJson = False,
) -> None:
    """Measure a bulk run relative to the bare extractor on the same documents and cores, without start-up time."""
    configure_runtime()
    from benchmarks.bulk import benchmark

    chosen = first_documents(corpus, documents)
    result = benchmark(model, chosen, documents, repeats, shard)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, repeats=repeats)
        return
    low, high = result["ratio_spread"]
    ratio = f"{result['ratio_to_extractor']:.1%} ({low:.1%} to {high:.1%})"
    typer.echo(f"throughput relative to the bare extractor: {ratio}")
    typer.echo(
        f"  {result['documents_per_second']:.1f} documents/s after a start-up of {result['startup_seconds']:.1f} s"
    )


def growth(model: Model, as_json: AsJson = False) -> None:
    """Measure the memory of a bulk run's driver with up to 100,000 tiny documents."""
    configure_runtime()
    from benchmarks.bulk import growth as measure

    result = {"rows": measure(model)}
    if as_json:
        print_json(result, model=model)
        return
    for row in result["rows"]:
        typer.echo(f"{row['documents']:>9,} documents  driver {row['driver_memory_mb']:6.0f} MB")


def export(
    model: Model,
    corpus: TestCorpus,
    documents: Annotated[int, typer.Option(min=1, help="Maximum number of documents.")] = 100_000,
    repeats: Repeats = 3,
    as_json: AsJson = False,
) -> None:
    """Compare the model as ONNX, in full precision and int8, with torch: scores, F1 and speed."""
    configure_runtime()
    from benchmarks.export import benchmark

    result = benchmark(model, corpus, documents, repeats)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, repeats=repeats)
        return
    for row in result["rows"]:
        speed = f"{row['documents_per_second']:.1f} documents/s"
        typer.echo(f"{row['engine']:10} F1 {row['f1']:.2%}  {speed}  Δ {row['largest_difference_of_scores']:.1e}")


def _training_batches(corpus: str, vocabulary: str, count: int = 4, forms: int = 8) -> tuple[list[Any], int]:
    """Encode the first forms of a corpus into batches of similar length."""
    from itertools import islice

    from formnet.datasets import open_corpus
    from formnet.document.tags import TagScheme
    from formnet.encoding import Encoder, collate, load_tokenizer

    opened = open_corpus(corpus)
    scheme = TagScheme(opened.entity_types, opened.untagged)
    encoder = Encoder(load_tokenizer(vocabulary), scheme)
    encoded = sorted((encoder(document) for document in islice(opened, count * forms)), key=len)
    batches = [collate(encoded[i : i + forms], encoder.padding_id) for i in range(0, len(encoded), forms)]
    return [{k: v for k, v in batch.items() if k != "ids"} for batch in batches], len(scheme)
