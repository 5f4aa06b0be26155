"""Tables of how well things are found."""

from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

from benchmarks.tables.markdown import table

#: What others report on these test documents: name, F1, millions of parameters, conditions. From the paper's Table 1;
#: on SROIE, which it does not use, from LayoutLMv2's.
PUBLISHED: dict[str, tuple[tuple[str, float, int, str], ...]] = {
    "funsd": (
        ("FormNet (paper)", 84.69, 217, "700,000 pages of pre-training"),
        ("DocFormer with images", 84.55, 536, "5 million pages"),
        ("LayoutLMv2 with images", 84.20, 426, "11 million pages"),
        ("DocFormer", 83.33, 502, "5 million pages"),
        ("LayoutLM with images", 79.27, 160, "11 million pages"),
        ("LayoutLM", 77.89, 343, "11 million pages"),
        ("UniLMv2", 70.72, 355, "160 GB of text"),
        ("SPADE", 70.5, 110, "BERT"),
    ),
    "cord": (
        ("FormNet (paper)", 97.28, 345, "700,000 pages of pre-training"),
        ("DocFormer with images", 96.99, 536, "5 million pages"),
        ("TILT with images", 96.33, 780, "1.1 million pages"),
        ("DocFormer", 96.30, 502, "5 million pages"),
        ("LayoutLMv2 with images", 96.01, 426, "11 million pages"),
        ("LayoutLM", 94.93, 343, "11 million pages"),
        ("UniLMv2", 92.05, 355, "160 GB of text"),
        ("SPADE", 91.5, 110, "BERT"),
    ),
    "sroie": (
        ("LayoutLMv2 with images", 97.81, 426, "11 million pages; without values that OCR got wrong"),
        ("LayoutLMv2 with images", 96.61, 426, "11 million pages"),
        ("LayoutLM", 95.24, 343, "11 million pages"),
        ("UniLMv2", 94.88, 355, "160 GB of text"),
        ("BERT", 92.00, 340, "text alone"),
    ),
}


def corpus(record: dict[str, Any]) -> str:
    """One configuration under several seeds, by type, beside what others report."""
    rows = [("what", "F1", "conditions")]
    kind = "field values" if record["scored"] == "fields" else "whole entities"
    rows.append(
        (
            f"**FormNet, here**, {kind}",
            f"**{spread(record['f1'])}**",
            f"{record['parameters'] / 1e6:.0f} M parameters; {len(record['seeds'])} seeds",
        )
    )
    unseen = record["not_in_training"]
    if 0 < unseen["documents"] < record["documents"]:
        without = record["documents"] - unseen["documents"]
        rows.append(("the same", spread(unseen["f1"]), f"without {without} documents that are nearly in training"))
    if "exact_string" in record:
        rows.append(("the same as exact strings", spread(record["exact_string"]), "SROIE's official way"))
        rows.append(("spans against aligned words", spread(record["spans"]), ""))
    rows += [(label, spread(figures), "this type alone") for label, figures in record["per_type"].items()]
    later = list(record["by_order"].items())[1:]
    rows += [(f"read in {order} order", spread(figures), "all types") for order, figures in later]
    for name, f1, parameters, conditions in PUBLISHED.get(record["test"].partition(":")[0], ()):
        rows.append((name, f"{f1:.2f}", f"{parameters} M parameters; {conditions}"))
    if record["scored"] == "fields":
        return table(rows)
    lost = record["lost"]
    every = max(sum(lost.values()), 1)
    parts = [f"{number / every:.0%} were {kind}" for kind, number in lost.items()]
    return table(rows) + f"\nOf {every:.0f} entities that were lost, {', '.join(parts)}.\n"


def recipes(records: dict[str, Any]) -> str:
    """What the same test documents were scored with, beside the documents held out by which it was chosen."""
    rows = [("learned", "F1 held out", "F1 test")]
    for record in records.values():
        corpora = [spec.partition(":")[0] for spec in record["config"]["corpus"]]
        head = record["test"].partition(":")[0] if len(corpora) > 1 else ""
        rows.append((" and ".join(map(str.upper, corpora)), spread(record["held_out"][head]), spread(record["f1"])))
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


def variants(record: dict[str, Any]) -> str:
    """Variants that stand beside each other, with their size."""
    rows = [("variant", "parameters", "F1")]
    rows += [(row["variant"], f"{row['parameters'] / 1e6:.1f} M", spread(row["f1"])) for row in record["rows"]]
    return table(rows)


def curve(record: dict[str, Any]) -> str:
    """How F1 grows with labeled documents."""
    return table(
        [("documents", "F1"), *((f"{point['documents']:,}", spread(point["f1"])) for point in record["points"])]
    )


#: Hours; shorter runs are told together.
SHORT = 0.15


def hours(record: dict[str, Any]) -> str:
    """Training time by what was trained: the first folder under the one that holds all runs."""
    spent: defaultdict[str, float] = defaultdict(float)
    for run, hours_of_it in record["runs"].items():
        spent[PurePosixPath(run).parts[1]] += hours_of_it
    rows = [("runs", "hours")]
    rows += [(name, f"{time:.1f}") for name, time in sorted(spent.items(), key=lambda one: -one[1]) if time >= SHORT]
    rows.append(("shorter ones", f"{sum(time for time in spent.values() if time < SHORT):.1f}"))
    return table([*rows, ("**all**", f"**{record['hours']:.1f}**")])


def pretraining(record: dict[str, Any]) -> str:
    """How well hidden words of pages held out are guessed as pre-training goes on."""
    optimization = record["config"]["optimization"]
    pieces = optimization["max_batch_tokens"] * optimization["accumulate"]
    rows = [("step", "pieces read, at most", "loss", "guessed right")]
    for look in record["held_out"]:
        read = f"{look['step'] * pieces / 1e6:.1f} M"
        rows.append((f"{look['step']:,}", read, f"{look['loss']:.2f}", f"{look['accuracy']:.1%}"))
    return table(rows)


def evaluation(record: dict[str, Any]) -> str:
    """One model on test documents, by type, with its calibration."""
    scores = record["orders"]["given"]
    kind = "fields" if "fields" in scores else "entities"
    low, high = scores[kind]["interval"]
    rows = [("field", "precision", "recall", "F1", "to find")]
    for name, part in [*scores[kind]["per_type"].items(), ("**all**", scores[kind])]:
        if part["gold"]:
            shares = (f"{100 * part[figure]:.1f}" for figure in ("precision", "recall", "f1"))
            rows.append((name, *shares, f"{part['gold']:,}"))
    calibration = scores["calibration"]
    passing = calibration["at_99_percent_precision"]
    about = (
        f"\n{scores['documents']:,} documents; F1 between {100 * low:.1f} and {100 * high:.1f} "
        "had others been drawn (95 %). "
        f"Calibration error {calibration['ece']:.3f}; {passing['share']:.0%} of what is found is surer than "
        f"{passing['threshold']:.3f}, and 99 % of that is right.\n"
    )
    return table(rows) + about


#: The shipped models' records: model, documents, fields.
SHIPPED = {
    "receipts-sroie": ("receipts", "SROIE", "company, date, address, total"),
    "receipts-cord": ("receipts", "CORD", "items, prices, totals: 30 labels"),
    "ad-invoices": ("ad-invoices", "ad-buy", "contract, advertiser, gross amount, flight dates"),
}


def shipped(records: dict[str, Any]) -> str:
    """What the shipped models do on test documents, with the corpora's own words and with what OCR engines read."""
    rows = [("model", "test documents", "fields", "F1", "calibration error", "passes at 99 % precision")]
    for name, (model, corpus_name, fields) in SHIPPED.items():
        scores = records[name]["orders"]["given"]
        documents = f"{corpus_name}, {scores['documents']:,}"
        calibration = scores["calibration"]
        passing = calibration["at_99_percent_precision"]
        f1 = scores.get("fields", scores["entities"])["f1"]
        rows.append(
            (f"`{model}`", documents, fields, f"{100 * f1:.1f}", f"{calibration['ece']:.3f}", f"{passing['share']:.0%}")
        )
    model, corpus_name, fields = SHIPPED["receipts-sroie"]
    for engine, part in records["ocr"]["engines"].items():
        pictures = f"{corpus_name}, {records['ocr']['documents']:,} pictures, {engine}"
        rows.append((f"`{model}`", pictures, fields, f"{100 * part['fields']['f1']:.1f}", "", ""))
    return table(rows)


def ocr(record: dict[str, Any]) -> str:
    """From pictures to fields, by OCR engine, and what the losses are made of."""
    own = record["own_words"]
    losses = list(record["losses"])
    rows = [("words", "field F1", "in raster order", "seconds a page", "core-seconds", *losses)]
    rows.append(("the corpus's own", f"{100 * own['f1']:.1f}", "", "", "", *("" for _ in losses)))
    for name, part in record["engines"].items():
        figures = (f"{100 * part[kind]['f1']:.1f}" for kind in ("fields", "fields_in_raster_order"))
        lost = (str(part["lost"][cause]) for cause in losses)
        rows.append((name, *figures, f"{part['seconds_a_page']:.1f}", f"{part['core_seconds_a_page']:.1f}", *lost))
    meaning = "".join(f"- *{name}*: {text}\n" for name, text in record["losses"].items())
    return table(rows) + f"\n{record['documents']:,} receipts. Values lost:\n\n" + meaning


def spread(figures: dict[str, Any]) -> str:
    """Write a mean in percent, and the deviation between seeds where there are several."""
    deviation = "" if figures["std"] is None else f" ± {100 * figures['std']:.2f}"
    return f"{100 * figures['mean']:.2f}{deviation}"
