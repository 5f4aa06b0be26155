"""Tables of masked language modeling by variant, and of what models use the graph for."""

from typing import Any

from benchmarks.tables.markdown import table
from benchmarks.tables.scores import spread


def pretraining_variants(record: dict[str, Any]) -> str:
    """Tabulate the final scores of pre-training variants on held-out pages, and the accuracy without messages."""
    rows = [("variant", "loss", "accuracy", "accuracy, words shuffled", "accuracy without messages")]
    for row in record["rows"]:
        shuffled = spread(row["accuracy_shuffled"]) if "accuracy_shuffled" in row else ""
        cut = spread(row["graph_use"]["messages_cut"]) if row["graph_use"] else ""
        rows.append((row["variant"], f"{row['loss']['mean']:.3f}", spread(row["accuracy"]), shuffled, cut))
    steps, seeds = record["rows"][0]["curves"][0][-1]["step"], len(record["seeds"])
    return table(rows) + f"\n{steps:,} steps, {seeds} {'seed' if seeds == 1 else 'seeds'}.\n"


def models(record: dict[str, Any]) -> str:
    """Tabulate F1 of models with the graph as it is and edited."""
    edits = list(record["rows"][0]["f1"])
    rows = [("model", "documents", *(edit.replace("_", " ") for edit in edits))]
    for row in record["rows"]:
        scores = (f"{100 * row['f1'][edit]:.1f}" for edit in edits)
        rows.append((f"`{row['model']}`", f"{row['documents']} of `{row['corpus']}`", *scores))
    return table(rows)
