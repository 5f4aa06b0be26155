"""Tables of what things cost, and of values found."""

from typing import Any

from benchmarks.tables.markdown import table


def alignment(record: dict[str, Any]) -> str:
    """Values found, by corpus and field, and how many of them words say just so: no more can be extracted."""
    rows = [("corpus", "field", "values", "found", "share", "just so")]
    for corpus, result in record["corpora"].items():
        kind, _, path = corpus.partition(":")
        split = f"{kind} {path.partition('@')[2]}".strip()
        for field, counts in [*result["fields"].items(), ("**all**", result["all"])]:
            just_so = counts["found"] - sum(counts["ways"].get(way, 0) for way in ("almost", "inside words"))
            shares = (f"{counts['share']:.2%}", f"{just_so / counts['values']:.2%}")
            rows.append((split, field, f"{counts['values']:,}", f"{counts['found']:,}", *shares))
    return table(rows)


def overlap(record: dict[str, Any]) -> str:
    """Whether documents of one corpus are in another, too."""
    rows = [("documents", "of which the other corpus holds", "words that the closest two share")]
    closest = max(pair["share"] for pair in record["pairs"])
    return table([*rows, (f"{record['documents']:,}", f"{record['same']:,}", f"{closest:.0%}")])


def graph(record: dict[str, Any]) -> str:
    """The page graph against bare Delaunay."""
    low, high = record["ratio_spread"]
    cost = record["milliseconds_per_page"]
    rows = [
        ("what", "measured"),
        ("whole graph with features ÷ bare Delaunay", f"{record['ratio_to_delaunay']:.2f} ({low:.2f} to {high:.2f})"),
        ("a page, on average", f"{cost['graph']:.2f} ms, of which Delaunay {cost['delaunay']:.2f} ms"),
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
    parts = record["milliseconds_per_document"]
    rows = [("what", "measured")]
    rows.append(("share of the bare network's speed", _share(record, "ratio_to_model")))
    rows.append(("documents a second", f"{record['documents_per_second']:.0f}"))
    rows += [(f"{name}, a document", f"{value:.2f} ms") for name, value in parts.items()]
    return table(rows)


def onnx(record: dict[str, Any]) -> str:
    """Other engines beside torch."""
    rows = [("engine", "F1", "largest difference of a score", "documents a second", "size")]
    for row in record["rows"]:
        size = "" if row["megabytes"] is None else f"{row['megabytes']:.0f} MiB"
        cells = (f"{row['largest_difference_of_scores']:.1e}", f"{row['documents_per_second']:.1f}", size)
        rows.append((row["engine"], f"{100 * row['f1']:.2f}", *cells))
    return table(rows)


#: What a core costs an hour, about, in dollars, where one rents machines by the hour.
CORE_HOUR = 0.04


def bulk(record: dict[str, Any]) -> str:
    """A bulk run beside the bare extractor."""
    pages = record["documents_per_second"] * record["pages"] / record["documents"]
    rows = [("what", "measured")]
    rows.append(("share of the bare extractor's speed", _share(record, "ratio_to_extractor")))
    alone = record["documents_per_second_on_one_core"]
    rows.append(("documents a second, one worker on one core", f"{alone:.1f}"))
    rows.append((f"{record['cores']} workers on {record['cores']}", f"{record['documents_per_second']:.1f}"))
    rows.append(("pages a second, a core", f"{pages / record['cores']:.1f}"))
    rows.append(("words a page", f"{record['words'] / record['pages']:.0f}"))
    rows.append(("start-up, not counted", f"{record['startup_seconds']:.0f} s"))
    return table(rows)


def growth(record: dict[str, Any]) -> str:
    """What the driver of a bulk run keeps in memory, for ever more documents."""
    rows = [("documents", "parts", "the driver's memory, half way", "at the end")]
    for row in record["rows"]:
        half, end = (f"{row[name]:.0f} MB" for name in ("driver_memory_half_way_mb", "driver_memory_mb"))
        rows.append((f"{row['documents']:,}", f"{row['shards']:,}", half, end))
    return table(rows)


def sizing(record: dict[str, Any]) -> str:
    """Core-hours and dollars for a million and a billion pages, with words given and with OCR."""
    bulk_run, reading = record["bulk"], record["ocr"]["engines"]
    seconds = bulk_run["cores"] * bulk_run["documents"] / bulk_run["documents_per_second"] / bulk_run["pages"]
    rows = [("words come from", "core-seconds a page", "10⁶ pages", "10⁹ pages", "cost of 10⁶ pages")]
    kinds = [("the file (PDF, JSON)", 0.0), *((name, row["core_seconds_a_page"]) for name, row in reading.items())]
    for name, more in kinds:
        hours = (seconds + more) * 1e6 / 3600
        rows.append((name, f"{seconds + more:.3f}", f"{hours:,.1f} core-hours", *_grown(hours)))
    return table(rows)


def _grown(hours: float) -> tuple[str, str]:
    return f"{hours * 1e3 / 24 / 1000:,.1f} days on 1,000 cores", f"${hours * CORE_HOUR:,.2f}"


def serve(record: dict[str, Any]) -> str:
    """The service at saturation."""
    rows = [("what", "measured")]
    rows.append(("share of the bare extractor's speed", _share(record, "ratio_to_extractor")))
    rows.append(("documents a second", f"{record['documents_per_second']:.1f}, to {record['clients']} clients"))
    rows.append(("an answer takes", f"p50 {record['p50_ms']:.0f} ms, p99 {record['p99_ms']:.0f} ms"))
    return table(rows)


def overload(record: dict[str, Any]) -> str:
    """The service under more load than it can bear, and without one of its networks."""
    rows: list[tuple[str, ...]] = [
        ("", f"{record['pressure']:g} × capacity, {record['minutes']:g} minutes", "a network killed")
    ]
    both = (record, record["network_killed"])
    rows.append(("requests", *(f"{part['requests']:,}" for part in both)))
    rows.append(("answers", *(", ".join(f"{n:,} × {s}" for s, n in sorted(p["answers"].items())) for p in both)))
    rows.append(("wrong answers", *(f"{part['wrong_answers']}" for part in both)))
    rows.append(("p99 of those answered", *(f"{part['p99_ms']:,.0f} ms" for part in both)))
    rows.append(("memory, first to last minutes", f"{record['memory_mb']['growth']:+.1%}", ""))
    again = record["recovery_seconds"]
    rows.append(("itself again after", "never" if again is None else f"{again:.1f} s", ""))
    return table(rows)


def security(record: dict[str, Any]) -> str:
    """What hostile clients tried."""
    rows = [("kind", "attempt", "answer", "seconds", "held")]
    for row in record["rows"]:
        answer = f"{row['status'] or ''} {row['code']}".strip()
        shown = "".join(c if c.isprintable() else "\N{SYMBOL FOR NULL}" for c in row["attempt"])
        attempt = shown.replace("|", "\\|").replace("<", "&lt;")
        rows.append((row["kind"], attempt, answer, f"{row['seconds']:.1f}", "yes" if row["held"] else "**no**"))
    return table(rows)


def _share(record: dict[str, Any], name: str) -> str:
    """Write a share, and between which it lay if it was measured more than once."""
    low, high = record["ratio_spread"]
    return f"{record[name]:.1%}" + (f" ({low:.1%} to {high:.1%})" if low < high else "")
