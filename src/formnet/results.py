"""Figures in the docs are generated from `results/*.json`, and checked to be what the JSON says.

A table stands between `<!-- results:NAME -->` and `<!-- /results -->` in a Markdown file.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from formnet.errors import FormNetError

_BLOCK = re.compile(r"(<!-- results:(?P<name>[\w-]+) -->\n).*?(<!-- /results -->)", re.DOTALL)


def refresh(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Give every Markdown file that holds tables, as it is and as the results say it should be."""
    files = [*root.glob("*.md"), *(root / "docs").rglob("*.md")]
    for file in sorted(files):
        text = file.read_text(encoding="utf-8")
        if _BLOCK.search(text):
            yield file, text, _BLOCK.sub(lambda block: block[1] + render(block["name"], root) + block[3], text)


def render(name: str, root: Path) -> str:
    """Make the table called so."""
    if name not in TABLES:
        raise FormNetError(f"there is no table {name!r}; known are {', '.join(TABLES)}.")
    file = root / "results" / f"{name}.json"
    try:
        record = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FormNetError(f"{file}: cannot be read: {error}.") from error
    return TABLES[name](record)


def _alignment(record: dict[str, Any]) -> str:
    rows = [("corpus", "field", "values", "found", "share")]
    for corpus, result in record["corpora"].items():
        kind, _, path = corpus.partition(":")
        split = f"{kind} {path.partition('@')[2]}".strip()
        for field, counts in [*result["fields"].items(), ("**all**", result["all"])]:
            rows.append((split, field, f"{counts['values']:,}", f"{counts['found']:,}", f"{counts['share']:.2%}"))
    return _markdown(rows)


def _graph(record: dict[str, Any]) -> str:
    low, high = record["ratio_spread"]
    cost = record["milliseconds_per_page"]
    rows = [
        ("what", "measured"),
        ("whole graph with features ÷ bare Delaunay", f"{record['ratio_to_delaunay']:.2f} ({low:.2f} to {high:.2f})"),
        ("a page of FUNSD, on average", f"{cost['graph']:.2f} ms, of which Delaunay {cost['delaunay']:.2f} ms"),
    ]
    for points, seconds in zip(record["points"], record["seconds"], strict=True):
        rows.append((f"one page of {points:,} words", f"{seconds:.3f} s"))
    return _markdown(rows)


def _parameters(record: dict[str, Any]) -> str:
    rows = [("size", "here", "paper", "difference")]
    for row in record["rows"]:
        published = row["published_millions"]
        rows.append((row["name"], f"{row['parameters'] / 1e6:.1f} M", f"{published} M", f"{row['ratio'] - 1:+.1%}"))
    return _markdown(rows)


def _attention(record: dict[str, Any]) -> str:
    rows = [("tokens", "precision", "forward", "forward and backward", "memory")]
    for case in record["cases"]:
        ratios = (f"{case[k]:.2f} ×" for k in ("forward_ratio", "train_ratio"))
        rows.append((f"{case['tokens']:,}", case["dtype"], *ratios, f"{case['peak_mb']:.0f} MB"))
    return _markdown(rows)


def _model(record: dict[str, Any]) -> str:
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
    return _markdown(rows)


def _training(record: dict[str, Any]) -> str:
    rows = [("precision", "small", "BERT", "ratio")]
    for name, row in record["by_dtype"].items():
        seconds = row["seconds_per_batch"]
        rows.append((name, f"{seconds['small']:.2f} s", f"{seconds['bert']:.2f} s", f"{row['ratio_to_bert']:.2f} ×"))
    return _markdown(rows)


TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "alignment": _alignment,
    "attention": _attention,
    "graph": _graph,
    "model": _model,
    "parameters": _parameters,
    "training": _training,
}


def _markdown(rows: Sequence[tuple[str, ...]]) -> str:
    head, *body = rows
    lines = [head, ("---",) * len(head), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
