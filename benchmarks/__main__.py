"""`python -m benchmarks NAME`: measure speed and memory, and generate the tables and plots of the docs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formnet.cli import run
from formnet.cli.options import AsJson, Model
from formnet.cli.results import Out, configure_runtime, print_json, write_results
from formnet.cli.train import Config, Overrides

if TYPE_CHECKING:
    from formnet.document import Document

Repeats = Annotated[int, typer.Option(min=1, help="Number of measurements.")]
TestCorpus = Annotated[str, typer.Argument(metavar="CORPUS", help="Corpus of test documents.")]

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


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
def extract(
    model: Model,
    corpus: TestCorpus,
    documents: Annotated[int, typer.Option(min=1, help="Number of documents.")] = 60,
    repeats: Repeats = 3,
    as_json: AsJson = False,
) -> None:
    """Measure extraction relative to the bare model on the same batches."""
    configure_runtime()
    from benchmarks.extract import benchmark
    from formnet.extraction.extractor import Extractor

    chosen = _first_documents(corpus, documents)
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


@app.command()
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

    chosen = _first_documents(corpus, documents)
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


@app.command()
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


@app.command()
def serve(
    model: Model,
    corpus: TestCorpus,
    documents: Annotated[int, typer.Option(min=1, help="Number of documents, sent repeatedly.")] = 50,
    seconds: Annotated[float, typer.Option(min=1, help="Seconds per measurement.")] = 6,
    clients: Annotated[int, typer.Option(min=1, help="Number of concurrent clients.")] = 16,
    repeats: Repeats = 3,
    as_json: AsJson = False,
) -> None:
    """Measure the service at saturation relative to the bare extractor on the same documents and cores."""
    configure_runtime()
    from benchmarks.serve import benchmark

    chosen = _first_documents(corpus, documents)
    result = benchmark(model, chosen, seconds=seconds, clients=clients, repeats=repeats)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, seconds=seconds, repeats=repeats)
        return
    low, high = result["ratio_spread"]
    ratio = f"{result['ratio_to_extractor']:.1%} ({low:.1%} to {high:.1%})"
    typer.echo(f"throughput relative to the bare extractor: {ratio}")
    typer.echo(f"  {result['documents_per_second']:.1f} documents/s with {clients} clients")
    typer.echo(f"  p50 {result['p50_ms']:.0f} ms, p99 {result['p99_ms']:.0f} ms")


@app.command()
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
    from formnet.datasets.alignment import with_entities

    result = benchmark(model, with_entities(_first_documents(corpus, documents)), repeats)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, repeats=repeats)
        return
    for row in result["rows"]:
        speed = f"{row['documents_per_second']:.1f} documents/s"
        typer.echo(f"{row['engine']:10} F1 {row['f1']:.2%}  {speed}  Δ {row['largest_difference_of_scores']:.1e}")


@app.command()
def overload(
    model: Model,
    corpus: TestCorpus,
    documents: Annotated[int, typer.Option(min=1, help="Number of documents, sent repeatedly.")] = 200,
    minutes: Annotated[float, typer.Option(min=0.1, help="Minutes of overload.")] = 10,
    times: Annotated[float, typer.Option(min=0.1, help="Load as a multiple of the measured capacity.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Send the service more requests than it can process, then kill one of its model replicas."""
    configure_runtime()
    from benchmarks.overload import benchmark

    result = benchmark(model, _first_documents(corpus, documents), minutes, times=times)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, minutes=minutes)
        return
    for name, part in (("overload", result), ("model replica killed", result["network_killed"])):
        responses = ", ".join(f"{count:,} × {status}" for status, count in part["answers"].items())
        typer.echo(f"{name}: {responses}; {part['wrong_answers']} wrong; p99 {part['p99_ms']:.0f} ms")
    recovery = result["recovery_seconds"]
    recovered = "no recovery" if recovery is None else f"recovery after {recovery:.1f} s"
    typer.echo(f"memory {result['memory_mb']['growth']:+.1%}; {recovered}")


@app.command()
def attacks(
    model: Model,
    schema_seconds: Annotated[
        int, typer.Option(min=0, help="Seconds of requests generated by schemathesis afterwards.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Send hostile requests to the service, with and without HAProxy in front of it, and check its responses."""
    from benchmarks.attack_list import attempts
    from benchmarks.attacks import attack

    result = attack(model, attempts(), schema_seconds)
    without_proxy = attack(model, attempts(), proxy=False)
    if as_json:
        print_json({**result, "without_proxy": without_proxy}, model=model, schema_seconds=schema_seconds)
    for name, part in (("with HAProxy", result), ("without HAProxy", without_proxy)):
        for row in part["rows"] if not as_json else ():
            mark = "passed" if row["held"] else "FAILED"
            typer.echo(f"{mark:9} {row['status']:3} {row['code']:15} {row['kind']}: {row['attempt']}")
        typer.echo(f"{part['held']} of {part['attempts']} passed {name}", err=as_json)
    if any(part["held"] < part["attempts"] for part in (result, without_proxy)):
        raise typer.Exit(1)


@app.command(name="hostile-folder")
def hostile_folder(
    image: Annotated[Path, typer.Argument(help="Image of a receipt.", exists=True, dir_okay=False)],
    repeats: Annotated[int, typer.Option(min=1, help="Runs per measurement of time.")] = 3,
    as_json: AsJson = False,
) -> None:
    """Extract from a folder of hostile and good files, and measure answers, memory and the cost of isolation."""
    from benchmarks.hostile_folder import benchmark

    result = benchmark(image, repeats)
    if as_json:
        print_json(result, repeats=repeats)
        return
    for file in result["hostile_files"]:
        typer.echo(f"{file['bytes']:>10,} bytes  {file['message'] or file['name'] + ': was read'}")
    ratios = ", ".join(f"{name} {part['ratio']:.3f}" for name, part in result["isolation_cost"].items())
    typer.echo(f"{result['good_answers']} of {result['good_files']} good files; peak {result['peak_mib']:,} MiB")
    typer.echo(f"time with isolation relative to without: {ratios}")


@app.command(name="worst-request")
def worst_request(
    model: Model,
    seconds: Annotated[float, typer.Option(min=1, help="Seconds per request.")] = 40,
    only: Annotated[str, typer.Option(metavar="TEXT", help="Only requests whose name contains this text.")] = "",
    as_json: AsJson = False,
) -> None:
    """Search for the request within the limits of the service that delays an honest small one most."""
    from benchmarks.worst_request import search

    result = search(model, seconds, only)
    if as_json:
        print_json(result)
        return
    for row in result["requests"]:
        typer.echo(
            f"{row['request']}: p50 {row['p50_seconds']:.2f} s, p99 {row['p99_seconds']:.2f} s, {row['statuses']}"
        )


@app.command()
def chaos(
    model: Model,
    corpus: TestCorpus,
    image: Annotated[Path, typer.Argument(help="Image of a receipt.", exists=True, dir_okay=False)],
    documents: Annotated[int, typer.Option(min=1, help="Number of documents, sent in random order.")] = 50,
    minutes: Annotated[float, typer.Option(min=0.1, help="Minutes of requests.")] = 60,
    seed: Annotated[int, typer.Option(help="Seed of the order of requests and kills.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Send honest and hostile requests while processes are killed and the disk is full for a while. Requires root."""
    configure_runtime()
    from benchmarks.chaos import run as run_chaos

    result = run_chaos(model, _first_documents(corpus, documents), image, minutes, seed)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, minutes=minutes, seed=seed)
        return
    for name, value in result.items():
        typer.echo(f"{name}: {value}")


@app.command()
def captions(
    config: Config,
    model: Model = "receipts",
    folds: Annotated[int, typer.Option(min=2, help="Number of folds that formnet calibrate has trained.")] = 5,
    override: Overrides = None,
    out: Out = None,
) -> None:
    """Score SROIE's held-out receipts with and without splitting words such as DATE:21/03/2018."""
    configure_runtime()
    from benchmarks.captions import benchmark
    from formnet.training import FineTuning, load_settings

    result = benchmark(load_settings(FineTuning, config, override or ()), model, folds)
    write_results(result, out)
    print_json(result)


@app.command()
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


@app.command()
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


@app.command()
def figures(
    results: Annotated[Path, typer.Option(help="Folder with results.")] = Path("results"),
    out: Annotated[Path, typer.Option(help="Folder for images.")] = Path("docs/images"),
) -> None:
    """Draw the plots of the docs from results/*.json: learning curve, F1 by model size, ablation, reliability."""
    from benchmarks.plots import draw_results

    for file in draw_results(results, out):
        typer.echo(str(file))


@app.command()
def hours(
    runs: Annotated[list[Path], typer.Argument(help="Folders with runs, searched recursively.")], out: Out = None
) -> None:
    """Sum the training time of runs from their TensorBoard event files."""
    configure_runtime(training=True)
    from benchmarks.hours import training_hours

    result = training_hours(runs)
    write_results(result, out)
    print_json(result)


def _first_documents(corpus: str, count: int) -> "list[Document]":
    from itertools import islice

    from formnet.datasets import open_corpus

    return list(islice(open_corpus(corpus), count))


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


if __name__ == "__main__":
    run(app)
