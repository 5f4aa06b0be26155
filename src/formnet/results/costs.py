"""Tables of what things cost, and of values found."""

from typing import Any

from formnet.results.markdown import table


def alignment(record: dict[str, Any]) -> str:
    """Values found, by corpus and field."""
    rows = [("corpus", "field", "values", "found", "share")]
    for corpus, result in record["corpora"].items():
        kind, _, path = corpus.partition(":")
        split = f"{kind} {path.partition('@')[2]}".strip()
        for field, counts in [*result["fields"].items(), ("**all**", result["all"])]:
            rows.append((split, field, f"{counts['values']:,}", f"{counts['found']:,}", f"{counts['share']:.2%}"))
    return table(rows)


def graph(record: dict[str, Any]) -> str:
    """The page graph against bare Delaunay."""
    low, high = record["ratio_spread"]
    cost = record["milliseconds_per_page"]
    rows = [
        ("what", "measured"),
        ("whole graph with features ÷ bare Delaunay", f"{record['ratio_to_delaunay']:.2f} ({low:.2f} to {high:.2f})"),
        ("a page of FUNSD, on average", f"{cost['graph']:.2f} ms, of which Delaunay {cost['delaunay']:.2f} ms"),
    ]
    for points, seconds in zip(record["points"], record["seconds"], strict=True):
        rows.append((f"one page of {points:,} words", f"{seconds:.3f} s"))
    return table(rows)


def parameters(record: dict[str, Any]) -> str:
    """Parameters beside the paper's."""
    rows = [("size", "here", "paper", "difference")]
    for row in record["rows"]:
        published = row["published_millions"]
        rows.append((row["name"], f"{row['parameters'] / 1e6:.1f} M", f"{published} M", f"{row['ratio'] - 1:+.1%}"))
    return table(rows)


def attention(record: dict[str, Any]) -> str:
    """Rich Attention against bare attention."""
    rows = [("tokens", "precision", "forward", "forward and backward", "memory")]
    for case in record["cases"]:
        ratios = (f"{case[k]:.2f} ×" for k in ("forward_ratio", "train_ratio"))
        rows.append((f"{case['tokens']:,}", case["dtype"], *ratios, f"{case['peak_mb']:.0f} MB"))
    return table(rows)


def model(record: dict[str, Any]) -> str:
    """Whole models."""
    rows = [("model", "parameters", "tokens", "precision", "documents/s", "of LayoutLMv3's", "memory")]
    speed = {(row["name"], row["tokens"], row["dtype"]): row["docs_per_second"] for row in record["rows"]}
    for row in record["rows"]:
        times = row["docs_per_second"] / speed["layoutlmv3", row["tokens"], row["dtype"]]
        cells = (
            f"{row['parameters'] / 1e6:.1f} M",
            f"{row['tokens']:,}",
            row["dtype"],
            f"{row['docs_per_second']:.2f}",
        )
        rows.append((row["name"], *cells, f"{times:.2f} ×", f"{row['peak_mb']:.0f} MB"))
    return table(rows)


def training(record: dict[str, Any]) -> str:
    """A training step against BERT's."""
    rows = [("precision", "small", "BERT", "ratio")]
    for name, row in record["by_dtype"].items():
        seconds = row["seconds_per_batch"]
        rows.append((name, f"{seconds['small']:.2f} s", f"{seconds['bert']:.2f} s", f"{row['ratio_to_bert']:.2f} ×"))
    return table(rows)


def extract(record: dict[str, Any]) -> str:
    """Extraction beside the bare network."""
    low, high = record["ratio_spread"]
    parts = record["milliseconds_per_document"]
    rows = [("what", "measured")]
    rows.append(("speed of the bare network", f"{record['ratio_to_model']:.1%} ({low:.1%} to {high:.1%})"))
    rows.append(("documents a second", f"{record['documents_per_second']:.0f}"))
    rows += [(f"{name}, a document", f"{value:.2f} ms") for name, value in parts.items()]
    return table(rows)
