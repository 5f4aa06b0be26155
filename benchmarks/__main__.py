"""`python -m benchmarks NAME`: speed as ratios to the bare engine in the same run, and tables and plots of results."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from formnet.cli import run
from formnet.cli.figures import Out, prepare, print_json, write_figures
from formnet.cli.options import AsJson, Model

if TYPE_CHECKING:
    from formnet.document import Document

Repeats = Annotated[int, typer.Option(min=1, help="How often to measure.")]

app = typer.Typer(
    name="python -m benchmarks",
    help="Measure speed, as ratios to the bare engine in the same run.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    from benchmarks.graph import benchmark

    result = benchmark(corpus, repeats)
    if as_json:
        print_json(result, corpus=corpus, repeats=repeats)
        return
    low, high = result["ratio_spread"]
    typer.echo(
        f"whole graph with features ÷ bare Delaunay: {result['ratio_to_delaunay']:.2f} ({low:.2f} to {high:.2f})"
    )
    for count, seconds in zip(result["points"], result["seconds"], strict=True):
        typer.echo(f"{count:>9,} points  {seconds:8.3f} s  {seconds / count * 1e6:6.2f} µs a point")


@app.command()
def attention(
    repeats: Annotated[int, typer.Option(min=1, help="How often to measure each case.")] = 15,
    tokens: Annotated[
        list[int] | None, typer.Option(help="Lengths to measure, instead of 1024, 4096 and 16384.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure Rich Attention with its global token against bare scaled-dot-product attention on the same band."""
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
    """Count the named sizes' parameters, beside the paper's figures."""
    from benchmarks.parameters import count

    result = count()
    if as_json:
        print_json(result)
        return
    for row in result["rows"]:
        ours = f"{row['parameters'] / 1e6:6.1f} M"
        typer.echo(f"{row['name']:13} {ours}  paper {row['published_millions']} M  {row['ratio'] - 1:+.1%}")


@app.command()
def model(
    corpus: Annotated[
        str | None, typer.Argument(metavar="[CORPUS]", help="With --train: whose forms to train on.")
    ] = None,
    train: Annotated[bool, typer.Option("--train", help="Time training steps beside plain BERT's.")] = False,
    vocabulary: Annotated[str, typer.Option(help="With --train: the tokenizer.")] = "bert-base-uncased",
    repeats: Repeats = 5,
    as_json: AsJson = False,
) -> None:
    """Measure whole models, random weights: ours, LayoutLM, BROS, LiLT and LayoutLMv3 in one run."""
    from benchmarks.model import inference, training

    if not train:
        result = inference(repeats=repeats)
    elif corpus is None:
        raise typer.BadParameter("--train needs a corpus of labeled forms, as in funsd:data/funsd@train")
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
        typer.echo(f"{name:9}  a training step of small ÷ plain BERT's: {row['ratio_to_bert']:.2f}")


@app.command()
def extract(
    model: Model,
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="Whose documents to extract from.")],
    documents: Annotated[int, typer.Option(min=1, help="How many of them.")] = 200,
    repeats: Repeats = 7,
    as_json: AsJson = False,
) -> None:
    """Measure extraction from documents against the bare network on the same batches."""
    prepare()
    from benchmarks.extract import benchmark
    from formnet.extraction.extractor import Extractor

    chosen = _first(corpus, documents)
    result = benchmark(Extractor.from_pretrained(model), chosen, repeats)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, repeats=repeats)
        return
    low, high = result["ratio_spread"]
    typer.echo(f"extraction at {result['ratio_to_model']:.1%} of the bare network's speed ({low:.1%} to {high:.1%})")
    for name, milliseconds in result["milliseconds_per_document"].items():
        typer.echo(f"  {name:10} {milliseconds:7.2f} ms a document")


@app.command()
def bulk(
    model: Model,
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="Whose documents to extract from.")],
    documents: Annotated[int, typer.Option(min=1, help="How many; a smaller corpus is gone through again.")] = 2000,
    repeats: Repeats = 3,
    shard: Annotated[int, typer.Option(min=1, help="Documents to a part: few, so that workers end together.")] = 64,
    as_json: AsJson = False,
) -> None:
    """Measure a bulk run against the bare extractor on the same documents and cores; start-up is told apart."""
    prepare()
    from benchmarks.bulk import benchmark

    chosen = _first(corpus, documents)
    result = benchmark(model, chosen, documents, repeats, shard)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, repeats=repeats)
        return
    low, high = result["ratio_spread"]
    typer.echo(f"bulk at {result['ratio_to_extractor']:.1%} of the bare extractor's speed ({low:.1%} to {high:.1%})")
    typer.echo(f"  {result['documents_per_second']:.1f} documents/s after {result['startup_seconds']:.1f} s to start")


@app.command()
def growth(model: Model, as_json: AsJson = False) -> None:
    """Measure a bulk run's driver, whose memory should not grow with the archive: up to 100,000 tiny documents."""
    prepare()
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
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="Whose documents to send.")],
    documents: Annotated[int, typer.Option(min=1, help="How many of them, again and again.")] = 200,
    seconds: Annotated[float, typer.Option(min=1, help="How long each measurement takes.")] = 20,
    clients: Annotated[int, typer.Option(min=1, help="How many wait for an answer at any time.")] = 16,
    repeats: Repeats = 3,
    as_json: AsJson = False,
) -> None:
    """Measure the service at saturation against the bare extractor on the same documents and cores."""
    prepare()
    from benchmarks.serve import benchmark

    chosen = _first(corpus, documents)
    result = benchmark(model, chosen, seconds=seconds, clients=clients, repeats=repeats)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, seconds=seconds, repeats=repeats)
        return
    low, high = result["ratio_spread"]
    typer.echo(f"serving at {result['ratio_to_extractor']:.1%} of the bare extractor's speed ({low:.1%} to {high:.1%})")
    typer.echo(f"  {result['documents_per_second']:.1f} documents/s to {clients} clients")
    typer.echo(f"  p50 {result['p50_ms']:.0f} ms, p99 {result['p99_ms']:.0f} ms")


@app.command()
def export(
    model: Model,
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="Whose documents to score.")],
    documents: Annotated[int, typer.Option(min=1, help="How many of them.")] = 100_000,
    repeats: Repeats = 3,
    as_json: AsJson = False,
) -> None:
    """Measure the network as ONNX, whole and in eight bits, against torch: scores, F1 and speed."""
    prepare()
    from benchmarks.export import benchmark
    from formnet.datasets.alignment import with_entities

    result = benchmark(model, with_entities(_first(corpus, documents)), repeats)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, repeats=repeats)
        return
    for row in result["rows"]:
        speed = f"{row['documents_per_second']:.1f} documents/s"
        typer.echo(f"{row['engine']:10} F1 {row['f1']:.2%}  {speed}  Δ {row['largest_difference_of_scores']:.1e}")


@app.command()
def overload(
    model: Model,
    corpus: Annotated[str, typer.Argument(metavar="CORPUS", help="Whose documents to send.")],
    documents: Annotated[int, typer.Option(min=1, help="How many different ones.")] = 200,
    minutes: Annotated[float, typer.Option(min=0.1, help="How long.")] = 10,
    times: Annotated[float, typer.Option(min=0.1, help="Of what the service can bear.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Ask more of the service than it can bear, and then kill one of its networks."""
    prepare()
    from benchmarks.overload import benchmark

    result = benchmark(model, _first(corpus, documents), minutes, times=times)
    if as_json:
        print_json(result, model=model, corpus=corpus, documents=documents, minutes=minutes)
        return
    for name, part in (("overload", result), ("a network killed", result["network_killed"])):
        answers = ", ".join(f"{count:,} × {status}" for status, count in part["answers"].items())
        typer.echo(f"{name}: {answers}; {part['wrong_answers']} wrong; p99 {part['p99_ms']:.0f} ms")
    again = result["recovery_seconds"]
    told = "never itself again" if again is None else f"itself again after {again:.1f} s"
    typer.echo(f"memory {result['memory_mb']['growth']:+.1%}; {told}")


@app.command()
def attacks(
    model: Model,
    schema_seconds: Annotated[int, typer.Option(min=0, help="Then let schemathesis make requests up for so long.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Try on the service what hostile clients try."""
    from benchmarks.attack_list import attempts
    from benchmarks.attacks import attack

    result = attack(model, attempts(), schema_seconds)
    if as_json:
        print_json(result, model=model, schema_seconds=schema_seconds)
    else:
        for row in result["rows"]:
            mark = "held" if row["held"] else "NOT HELD"
            typer.echo(f"{mark:9} {row['status']:3} {row['code']:15} {row['kind']}: {row['attempt']}")
        typer.echo(f"{result['held']} of {result['attempts']} held")
    if result["held"] < result["attempts"]:
        raise typer.Exit(1)


@app.command()
def results(
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; fail if a table is not what results say.")
    ] = False,
    root: Annotated[Path, typer.Option(help="The source tree.")] = Path(),
) -> None:
    """Write the tables in README and docs anew from results/*.json."""
    from benchmarks.tables import refresh

    stale = [(file, new) for file, old, new in refresh(root) if new != old]
    for file, new in stale:
        typer.echo(
            f"{file}: {'is not what the results say; run python -m benchmarks results' if check else 'written anew'}"
        )
        if not check:
            file.write_text(new, encoding="utf-8")
    if check and stale:
        raise typer.Exit(1)


@app.command()
def figures(
    results: Annotated[Path, typer.Option(help="Where the figures are.")] = Path("results"),
    out: Annotated[Path, typer.Option(help="The folder for pictures.")] = Path("docs/images"),
) -> None:
    """Draw the pictures of the docs from results/*.json: learning curve, size against F1, the 2×2, reliability."""
    from benchmarks.plots import draw_results

    for file in draw_results(results, out):
        typer.echo(str(file))


@app.command()
def hours(
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, or folders of such folders.")], out: Out = None
) -> None:
    """Add up how long was trained, from the curves that runs leave behind."""
    prepare(training=True)
    from benchmarks.hours import hours_trained

    result = hours_trained(runs)
    write_figures(result, out)
    print_json(result)


def _first(corpus: str, count: int) -> "list[Document]":
    from itertools import islice

    from formnet.datasets import open_corpus

    return list(islice(open_corpus(corpus), count))


def _training_batches(corpus: str, vocabulary: str, count: int = 4, forms: int = 8) -> tuple[list[Any], int]:
    """Encode the first forms of a corpus into a few batches of like length."""
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
