"""Tables of speed, memory and cost, and of alignment coverage."""

from typing import Any

from benchmarks.tables.markdown import table


def alignment(record: dict[str, Any]) -> str:
    """Tabulate the values found and those that a model can extract, by corpus and field."""
    rows = [("corpus", "field", "values", "found", "share", "attainable", "share")]
    for corpus, result in record["corpora"].items():
        kind, _, path = corpus.partition(":")
        split = f"{kind} {path.partition('@')[2]}".strip()
        for field, counts in [*result["fields"].items(), ("**all**", result["all"])]:
            values, attainable = counts["values"], counts["attainable"]
            shares = (f"{counts['share']:.2%}", f"{attainable:,}", f"{attainable / values:.2%}")
            rows.append((split, field, f"{values:,}", f"{counts['found']:,}", *shares))
    return table(rows)


def graph(record: dict[str, Any]) -> str:
    """Tabulate the page graph relative to the Delaunay triangulation."""
    low, high = record["ratio_spread"]
    ratio = f"{record['ratio_to_delaunay']:.2f} ({low:.2f} to {high:.2f})"
    cost = record["milliseconds_per_page"]
    rows = [
        ("measurement", "value"),
        ("graph with features ÷ Delaunay triangulation", ratio),
        ("mean time per page", f"{cost['graph']:.2f} ms, of which Delaunay {cost['delaunay']:.2f} ms"),
    ]
    for points, seconds in zip(record["points"], record["seconds"], strict=True):
        rows.append((f"one page with {points:,} words", f"{seconds:.3f} s"))
    return table(rows)


def parameters(record: dict[str, Any]) -> str:
    """Tabulate parameter counts compared with the paper."""
    rows = [("size", "this repository", "paper", "difference")]
    for row in record["rows"]:
        published = row["published_millions"]
        rows.append((row["name"], f"{row['parameters'] / 1e6:.1f} M", f"{published} M", f"{row['ratio'] - 1:+.1%}"))
    return table(rows)


def attention(record: dict[str, Any]) -> str:
    """Tabulate Rich Attention relative to scaled dot-product attention."""
    rows = [("tokens", "precision", "forward", "forward and backward", "peak memory")]
    for case in record["cases"]:
        ratios = (f"{case[k]:.2f} ×" for k in ("forward_ratio", "train_ratio"))
        rows.append((f"{case['tokens']:,}", case["dtype"], *ratios, f"{case['peak_mb']:.0f} MB"))
    return table(rows)


def model(record: dict[str, Any]) -> str:
    """Tabulate inference with complete models."""
    rows = [("model", "parameters", "tokens", "precision", "documents/s", "relative to LayoutLMv3", "peak memory")]
    speed = {(row["name"], row["tokens"], row["dtype"]): row["docs_per_second"] for row in record["rows"]}
    for row in record["rows"]:
        ratio = row["docs_per_second"] / speed["layoutlmv3", row["tokens"], row["dtype"]]
        cells = (
            f"{row['parameters'] / 1e6:.1f} M",
            f"{row['tokens']:,}",
            row["dtype"],
            f"{row['docs_per_second']:.2f}",
        )
        rows.append((row["name"], *cells, f"{ratio:.2f} ×", f"{row['peak_mb']:.0f} MB"))
    return table(rows)


def training(record: dict[str, Any]) -> str:
    """Tabulate training steps relative to BERT."""
    rows = [("precision", "small", "BERT", "ratio")]
    for name, row in record["by_dtype"].items():
        seconds = row["seconds_per_batch"]
        rows.append((name, f"{seconds['small']:.2f} s", f"{seconds['bert']:.2f} s", f"{row['ratio_to_bert']:.2f} ×"))
    return table(rows)


def extract(record: dict[str, Any]) -> str:
    """Tabulate extraction relative to the bare model."""
    steps = {"whole": "extraction", "bare": "bare model", "collating": "collation"}
    rows = [("measurement", "value")]
    rows.append(("throughput relative to the bare model", _share(record, "ratio_to_model")))
    structure, (low, high) = record["structure_to_entities"], record["structure_to_entities_spread"]
    added = f"{structure - 1:+.1%} ({low - 1:+.1%} to {high - 1:+.1%})"
    rows.append(("time added by links, fields and checks", added))
    rows.append(("documents per second", f"{record['documents_per_second']:.0f}"))
    for name, value in record["milliseconds_per_document"].items():
        rows.append((f"{steps.get(name, name)}, per document", f"{value:.2f} ms"))
    return table(rows)


def onnx(record: dict[str, Any]) -> str:
    """Tabulate other engines compared with torch."""
    rows = [("engine", "F1", "largest score difference", "documents per second", "size")]
    for row in record["rows"]:
        size = "" if row["megabytes"] is None else f"{row['megabytes']:.0f} MiB"
        cells = (f"{row['largest_difference_of_scores']:.1e}", f"{row['documents_per_second']:.1f}", size)
        rows.append((row["engine"], f"{100 * row['f1']:.2f}", *cells))
    return table(rows)


#: Approximate price of a core-hour on a rented machine, in dollars.
CORE_HOUR = 0.04


def bulk(record: dict[str, Any]) -> str:
    """Tabulate a bulk run relative to the bare extractor."""
    pages = record["documents_per_second"] * record["pages"] / record["documents"]
    rows = [("measurement", "value")]
    rows.append(("throughput relative to the bare extractor", _share(record, "ratio_to_extractor")))
    cores, one_core = record["cores"], record["documents_per_second_on_one_core"]
    rows.append(("documents per second, 1 worker on 1 core", f"{one_core:.1f}"))
    rows.append((f"documents per second, {cores} workers on {cores} cores", f"{record['documents_per_second']:.1f}"))
    rows.append(("pages per second and core", f"{pages / cores:.1f}"))
    rows.append(("words per page", f"{record['words'] / record['pages']:.0f}"))
    rows.append(("start-up time, not included", f"{record['startup_seconds']:.0f} s"))
    return table(rows)


def growth(record: dict[str, Any]) -> str:
    """Tabulate the memory of the driver of a bulk run by number of documents."""
    rows = [("documents", "shards", "driver memory halfway", "driver memory at the end")]
    for row in record["rows"]:
        half, end = (f"{row[name]:.0f} MB" for name in ("driver_memory_half_way_mb", "driver_memory_mb"))
        rows.append((f"{row['documents']:,}", f"{row['shards']:,}", half, end))
    return table(rows)


def sizing(record: dict[str, Any]) -> str:
    """Tabulate core-hours and cost of a million and a billion pages, with and without OCR."""
    bulk_run = record["bulk"]
    seconds = bulk_run["cores"] * bulk_run["documents"] / bulk_run["documents_per_second"] / bulk_run["pages"]
    rows = [("source of words", "core-seconds per page", "10⁶ pages", "10⁹ pages", "cost of 10⁶ pages")]
    engines = [(f"`{row['engine']}`", row["core_seconds_per_page"]) for row in record["ocr-cost"]["rows"]]
    sources = [("the file (PDF, JSON)", 0.0), *engines]
    for name, ocr_seconds in sources:
        hours = (seconds + ocr_seconds) * 1e6 / 3600
        rows.append((name, f"{seconds + ocr_seconds:.3f}", f"{hours:,.1f} core-hours", *_scaled(hours)))
    return table(rows)


def _scaled(hours: float) -> tuple[str, str]:
    return f"{hours * 1e3 / 24 / 1000:,.1f} days on 1,000 cores", f"${hours * CORE_HOUR:,.2f}"


def serve(record: dict[str, Any]) -> str:
    """Tabulate the service at saturation."""
    rows = [("measurement", "value")]
    rows.append(("throughput relative to the bare extractor", _share(record, "ratio_to_extractor")))
    rows.append(("documents per second", f"{record['documents_per_second']:.1f} with {record['clients']} clients"))
    rows.append(("latency", f"p50 {record['p50_ms']:.0f} ms, p99 {record['p99_ms']:.0f} ms"))
    return table(rows)


def overload(record: dict[str, Any]) -> str:
    """Tabulate the service under overload, and after one of its model replicas is killed."""
    rows: list[tuple[str, ...]] = [
        ("", f"{record['pressure']:g} × capacity for {record['minutes']:g} minutes", "after a model replica is killed")
    ]
    both = (record, record["network_killed"])
    rows.append(("requests", *(f"{part['requests']:,}" for part in both)))
    rows.append(("responses", *(", ".join(f"{n:,} × {s}" for s, n in sorted(p["answers"].items())) for p in both)))
    rows.append(("wrong responses", *(f"{part['wrong_answers']}" for part in both)))
    rows.append(("p99 latency of successful requests", *map(_latency, both)))
    rows.append(("memory growth, first to last minutes", f"{record['memory_mb']['growth']:+.1%}", ""))
    recovery = record["recovery_seconds"]
    rows.append(("recovery time", "none" if recovery is None else f"{recovery:.1f} s", ""))
    return table(rows)


def _latency(part: dict[str, Any]) -> str:
    return "none" if part["p99_ms"] is None else f"{part['p99_ms']:,.0f} ms"


def security(record: dict[str, Any]) -> str:
    """Tabulate the security test: attempts, and responses with and without HAProxy."""
    rows = [("kind", "attempt", "response", "passed", "response without HAProxy", "passed")]
    for row, bare in zip(record["rows"], record["without_proxy"]["rows"], strict=True):
        assert (row["kind"], row["attempt"]) == (bare["kind"], bare["attempt"])
        printable = "".join(c if c.isprintable() else "\N{SYMBOL FOR NULL}" for c in row["attempt"])
        attempt = printable.replace("|", "\\|").replace("<", "&lt;")
        outcomes = (text for part in (row, bare) for text in (_response(part), "yes" if part["held"] else "**no**"))
        rows.append((row["kind"], attempt, *outcomes))
    return table(rows)


def _response(row: dict[str, Any]) -> str:
    return f"{row['status'] or 'disconnected'} {row['code']}".strip()


def worst_request(record: dict[str, Any]) -> str:
    """Tabulate the latency of honest requests during each hostile one."""
    rows = [("requests at the same time", "responses to them", "honest requests", "p50", "p99", "longest")]
    for row in record["requests"]:
        responses = ", ".join(f"{count:,} × {status}" for status, count in row["statuses"].items()) or "none yet"
        seconds = (f"{row[name]:.2f} s" for name in ("p50_seconds", "p99_seconds", "max_seconds"))
        rows.append((row["request"], responses, f"{row['honest_requests']:,}", *seconds))
    return table(rows)


def hostile_folder(record: dict[str, Any]) -> str:
    """Tabulate the messages for hostile files in a folder."""
    rows = [("file", "bytes", "message")]
    for file in record["hostile_files"]:
        message = (file["message"] or "was read").replace("|", "\\|").replace("<", "&lt;")
        rows.append((file["name"], f"{file['bytes']:,}", message))
    return table(rows)


def ocr_cost(record: dict[str, Any]) -> str:
    """Tabulate the cost of OCR by engine."""
    rows: list[tuple[str, ...]] = [
        ("engine", "core-seconds per page", "one photo, cold start", "one photo, warm service")
    ]
    for row in record["rows"]:
        seconds = (row["cold_seconds"], row.get("service_seconds"))
        rows.append(
            (
                f"`{row['engine']}`",
                f"{row['core_seconds_per_page']:.2f}",
                *("–" if value is None else f"{value:.1f} s" for value in seconds),
            )
        )
    same = f"same words on {record['same_text']} of {record['pages']} pages"
    return table(rows) + f"\nOpenVINO ÷ onnxruntime: {record['ratio_to_onnxruntime']:.2f}; {same}.\n"


def chaos(record: dict[str, Any]) -> str:
    """Tabulate a chaos run."""
    memory = record["memory_mb"]
    rows = [("", f"{record['minutes']:g} minutes")]
    rows.append(("honest requests", f"{record['honest_requests']:,}"))
    rows.append(("responses to them", ", ".join(f"{n:,} × {status}" for status, n in record["honest"].items())))
    rows.append(("wrong answers", f"{len(record['wrong_answers'])}"))
    rows.append(("requests without an answer or an error", f"{len(record['lost_requests'])}"))
    rows.append(("latency of answers", f"p50 {record['p50_seconds']:.2f} s, p99 {record['p99_seconds']:.2f} s"))
    rows.append(("hostile requests", f"{sum(record['hostile'].values()):,}"))
    rows.append(("unexpected responses to them", f"{len(record['unexpected_responses'])}"))
    rows.append(("processes killed", ", ".join(f"{n} × {kind}" for kind, n in record["kills"].items())))
    rows.append(("disk full", f"{record['disk_full_seconds']:.0f} s"))
    rows.append(("correct answers afterwards", record["correct_after_recovery"]))
    rows.append(("memory growth", f"{memory['growth']:+.1%}, from {memory['begin']:,} to {memory['end']:,} MiB"))
    rows.append(("processes and files left after shutdown", f"{len(record['processes_left'] + record['files_left'])}"))
    return table(rows)


def new_user(record: dict[str, Any]) -> str:
    """Tabulate the time of each of a new user's first steps."""
    return table([("step", "seconds"), *((step, f"{seconds:.0f}") for step, seconds in record["seconds"].items())])


def hot_folder(record: dict[str, Any]) -> str:
    """Tabulate what became of the files of a hot folder whose process was killed."""
    rows = [("", "files")]
    rows += [(f"`{suffix}`", f"{count}") for suffix, count in sorted(record["suffixes"].items())]
    rows += [("**all**", f"{record['files']}"), ("done", f"{record['done']}"), ("failed", f"{len(record['failed'])}")]
    return table(
        [
            *rows,
            ("left in the folder", f"{record['left_in_folder']}"),
            ("**processed exactly once**", f"{record['processed_once']}"),
        ]
    )


def _share(record: dict[str, Any], name: str) -> str:
    """Format a ratio in percent, with its range if it was measured more than once."""
    low, high = record["ratio_spread"]
    return f"{record[name]:.1%}" + (f" ({low:.1%} to {high:.1%})" if low < high else "")
