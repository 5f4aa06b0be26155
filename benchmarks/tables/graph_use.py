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
    curves = record["rows"][0]["curves"]
    seeds = "1 seed" if len(curves) == 1 else f"{len(curves)} seeds"
    return table(rows) + f"\n{curves[0][-1]['step']:,} steps, {seeds}.\n"


def models(record: dict[str, Any]) -> str:
    """Tabulate scores of models with the graph as it is and edited."""
    metrics = {"f1": "F1", "masked_language_accuracy": "masked-language accuracy"}
    scores = [next((name, row[metric]) for metric, name in metrics.items() if metric in row) for row in record["rows"]]
    edits = list(scores[0][1])
    rows = [("model", "documents", "score", *(edit.replace("_", " ") for edit in edits))]
    for row, (name, by_edit) in zip(record["rows"], scores, strict=True):
        figures = (f"{100 * by_edit[edit]:.1f}" for edit in edits)
        rows.append((f"`{row['model']}`", f"{row['documents']} of `{row['corpus']}`", name, *figures))
    return table(rows)
