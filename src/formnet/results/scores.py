"""Tables of how well things are found."""

from typing import Any

from formnet.results.markdown import table

#: What others report on the same test documents: name, F1, parameters, conditions.
PUBLISHED: dict[str, tuple[tuple[str, float, str, str], ...]] = {
    "funsd": (
        ("FormNet (paper)", 84.69, "217 M", "word boxes; 700,000 pages of pre-training"),
        ("DocFormer-large", 84.55, "536 M", "word boxes, image; 5 million pages"),
        ("BROS-large", 84.52, "340 M", "word boxes; 11 million pages"),
        ("LayoutLMv2-large", 84.20, "426 M", "word boxes, image; 11 million pages"),
        ("LayoutLM-large", 78.95, "343 M", "word boxes; 11 million pages"),
    ),
    "cord": (
        ("FormNet (paper)", 97.28, "345 M", "700,000 pages of pre-training"),
        ("BROS-large", 97.28, "340 M", "11 million pages"),
        ("DocFormer-large", 96.99, "536 M", "image; 5 million pages"),
        ("LayoutLMv2-large", 96.01, "426 M", "image; 11 million pages"),
        ("LayoutLM-large", 94.93, "343 M", "11 million pages"),
    ),
}


def corpus(record: dict[str, Any]) -> str:
    """One configuration under several seeds, by type, beside what others report."""
    rows = [("what", "F1", "conditions")]
    kind = "field values" if record["scored"] == "fields" else "whole entities"
    rows.append((f"**FormNet, here**, {kind}", f"**{spread(record['f1'])}**", f"{len(record['seeds'])} seeds"))
    unseen = record["not_in_training"]
    if 0 < unseen["documents"] < record["documents"]:
        without = record["documents"] - unseen["documents"]
        rows.append(("the same", spread(unseen["f1"]), f"without {without} documents that are in training, too"))
    if "exact_string" in record:
        rows.append(("the same as exact strings", spread(record["exact_string"]), "SROIE's official way"))
        rows.append(("spans against aligned words", spread(record["spans"]), ""))
    rows += [(f"{label}", spread(figures), "of it") for label, figures in record["per_type"].items()]
    for name, f1, parameters, conditions in PUBLISHED.get(record["test"].partition(":")[0], ()):
        rows.append((name, f"{f1:.2f}", f"{parameters}; {conditions}"))
    return table(rows)


def ablation(record: dict[str, Any]) -> str:
    """The paper's 2×2, by the order trained and scored in."""
    orders = list(record["rows"][0]["f1"])
    rows = [("variant", "trained in", *(f"scored in {order}" for order in orders))]
    rows += [
        (row["variant"], row["trained_in"], *(spread(row["f1"][order]) for order in orders)) for row in record["rows"]
    ]
    return table(rows)


def choices(record: dict[str, Any]) -> str:
    """What was tried, on held-out documents, against the first row."""
    rows = [("variant", "F1 held out", "against the first")]
    first = record["rows"][0]["f1"]["mean"]
    rows += [(row["variant"], spread(row["f1"]), f"{100 * (row['f1']['mean'] - first):+.2f}") for row in record["rows"]]
    return table(rows)


def curve(record: dict[str, Any]) -> str:
    """How F1 grows with labelled documents."""
    return table(
        [("documents", "F1"), *((f"{point['documents']:,}", spread(point["f1"])) for point in record["points"])]
    )


def spread(figures: dict[str, Any]) -> str:
    """Write a mean in percent, and the deviation between seeds where there are several."""
    deviation = "" if figures["std"] is None else f" ± {100 * figures['std']:.2f}"
    return f"{100 * figures['mean']:.2f}{deviation}"
