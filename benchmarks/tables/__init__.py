"""Tables in the docs, generated from `results/*.json`.

A table is placed between `<!-- results:NAME -->` and `<!-- /results -->` in a Markdown file.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.tables import costs, graph_use, records, scores, structure
from formnet.errors import FormNetError

TABLES: dict[str, Callable[[dict[str, Any]], str]] = {
    "alignment": costs.alignment,
    "attention": costs.attention,
    "graph": costs.graph,
    "model": costs.model,
    "parameters": costs.parameters,
    "training": costs.training,
    "funsd": scores.corpus,
    "ablation": scores.ablation,
    "ablation-cord": scores.ablation,
    "ablation-effects": scores.ablation_effects,
    "ablation-without-pretraining": scores.ablation,
    "ocr-words": scores.choices_by_head,
    "curve": scores.curve,
    "base": scores.pretraining,
    "graph-use": graph_use.models,
    "graph-use-before": graph_use.models,
    "funsd-steps": scores.folds,
    "pretrain-designs": graph_use.pretraining_variants,
    "pretrain-variants": graph_use.pretraining_variants,
    "receipts-cord": scores.evaluation,
    "receipts-cord-dev": scores.items_and_links,
    "receipts-sroie": scores.evaluation,
    "shipped": scores.shipped,
    "calibration": scores.calibration,
    "ocr": scores.ocr,
    "ocr-originals": scores.ocr,
    "ocr-fifty": scores.ocr,
    "reference-lists": scores.reference_lists,
    "receipts-us": scores.us_receipts,
    "wildreceipt": records.records,
    "synthetic-receipts": records.compared_models,
    "invoices": records.records,
    "einvoices": records.records,
    "invoices-real": records.real_invoices,
    "invoices-overview": records.invoices_overview,
    "elsewhere": records.elsewhere,
    "document-types": records.document_types,
    "structure-cord": structure.line_items,
    "structure-folds": structure.variants,
    "linking-funsd": structure.linking,
    "straight-through": structure.straight_through,
    "extract": costs.extract,
    "onnx": costs.onnx,
    "ocr-cost": costs.ocr_cost,
    "bulk": costs.bulk,
    "growth": costs.growth,
    "sizing": costs.sizing,
    "serve": costs.serve,
    "overload": costs.overload,
    "security": costs.security,
    "worst-request": costs.worst_request,
    "hostile-folder": costs.hostile_folder,
    "chaos": costs.chaos,
    "new-user": costs.new_user,
    "hot-folder": costs.hot_folder,
}
#: Tables that combine several results.
SOURCES = {
    "ablation-effects": tuple(scores.ABLATIONS),
    "sizing": ("bulk", "ocr-cost"),
    "invoices-overview": ("invoices", "einvoices", "invoices-real"),
    "elsewhere": ("receipts-us", "wildreceipt", "einvoices", "invoices-real"),
    "shipped": (*scores.SHIPPED, "ocr"),
}

_BLOCK = re.compile(r"(<!-- results:(?P<name>[\w-]+) -->\n).*?(<!-- /results -->)", re.DOTALL)


def refresh(root: Path) -> Iterator[tuple[Path, str, str]]:
    """Yield each Markdown file with tables: its path, its text, and its text with the tables regenerated."""
    files = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *(root / "src").rglob("*.md")]
    for file in sorted(files):
        text = file.read_text(encoding="utf-8")
        if _BLOCK.search(text):
            yield file, text, _BLOCK.sub(lambda block: block[1] + render(block["name"], root) + block[3], text)


def render(name: str, root: Path) -> str:
    """Generate a table by name."""
    if name not in TABLES:
        raise FormNetError(f"no table is named {name!r}. Available tables: {', '.join(TABLES)}.")
    if name in SOURCES:
        return TABLES[name]({source: _read(root, source) for source in SOURCES[name]})
    return TABLES[name](_read(root, name))


def _read(root: Path, name: str) -> dict[str, Any]:
    file = root / "results" / f"{name}.json"
    try:
        record: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise FormNetError(f"{file}: cannot read results: {error}.") from error
    return record
