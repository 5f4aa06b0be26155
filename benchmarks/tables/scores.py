"""Tables of scores."""

from collections import defaultdict
from pathlib import PurePosixPath
from typing import Any

from benchmarks.tables.markdown import table
from benchmarks.tables.recorded import current_wording, get_setting

#: Published results on the same test documents: name, F1, millions of parameters, conditions. From Table 1 of the
#: paper and, for SROIE, which it does not use, from the LayoutLMv2 paper.
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
        ("LayoutLMv2 with images", 97.81, 426, "11 million pages; values with OCR errors excluded"),
        ("LayoutLMv2 with images", 96.61, 426, "11 million pages"),
        ("LayoutLM", 95.24, 343, "11 million pages"),
        ("UniLMv2", 94.88, 355, "160 GB of text"),
        ("BERT", 92.00, 340, "text only"),
    ),
}


def corpus(record: dict[str, Any]) -> str:
    """Tabulate one configuration trained with several seeds, by type, with published results."""
    rows = [("model or subset", "F1", "conditions")]
    kind = "field values" if record["scored"] == "fields" else "entities"
    rows.append(
        (
            f"**FormNet (this repository)**, {kind}",
            f"**{spread(record['f1'])}**",
            f"{record['parameters'] / 1e6:.0f} M parameters; {len(record['seeds'])} seeds",
        )
    )
    deduplicated = record["not_in_training"]
    if 0 < deduplicated["documents"] < record["documents"]:
        excluded = record["documents"] - deduplicated["documents"]
        conditions = f"{excluded} documents excluded"
        rows.append(("without near-duplicates of training documents", spread(deduplicated["f1"]), conditions))
    if "exact_string" in record:
        rows.append(("exact string match", spread(record["exact_string"]), "official SROIE metric"))
        rows.append(("entities, against aligned words", spread(record["spans"]), ""))
    rows += [(label, spread(f1), "this type only") for label, f1 in record["per_type"].items()]
    other_orders = list(record["by_order"].items())[1:]
    rows += [(f"{order} reading order", spread(f1), "all types") for order, f1 in other_orders]
    for name, published, parameters, conditions in PUBLISHED.get(record["test"].partition(":")[0], ()):
        rows.append((name, f"{published:.2f}", f"{parameters} M parameters; {conditions}"))
    if record["scored"] == "fields":
        return table(rows)
    missed = max(sum(record["lost"].values()), 1)
    *parts, last = [f"{number / missed:.0%} {_MISSES[kind]}" for kind, number in record["lost"].items()]
    return table(rows) + f"\nOf {missed:.0f} missed entities, {', '.join(parts)} and {last}.\n"


#: Kinds of missed entities, as predicates.
_MISSES = {
    "unseen": "overlap no predicted entity",
    "mistyped": "were predicted with another type",
    "misplaced": "were predicted with other boundaries",
}


def recipes(records: dict[str, Any]) -> str:
    """Tabulate training corpora with their held-out scores, by which they were chosen, and test scores."""
    rows = [("trained on", "held-out F1", "test F1")]
    for record in records.values():
        corpora = [spec.partition(":")[0] for spec in record["config"]["corpus"]]
        head = record["test"].partition(":")[0] if len(corpora) > 1 else ""
        rows.append((" and ".join(map(str.upper, corpora)), spread(record["held_out"][head]), spread(record["f1"])))
    return table(rows)


def ablation(record: dict[str, Any]) -> str:
    """Tabulate the ablation of the paper, by reading order in training and test."""
    orders = list(record["rows"][0]["f1"])
    rows = [("variant", "training order", *(f"F1, {order} order" for order in orders))]
    rows += [
        (row["variant"], row["trained_in"], *(spread(row["f1"][order]) for order in orders)) for row in record["rows"]
    ]
    return table(rows)


def choices(record: dict[str, Any]) -> str:
    """Tabulate variants on held-out documents, compared with the first row."""
    rows = [("variant", "held-out F1", "difference to the first row")]
    first = record["rows"][0]["f1"]["mean"]
    for row in record["rows"]:
        difference = f"{100 * (row['f1']['mean'] - first):+.2f}"
        rows.append((current_wording(row["variant"]), spread(row["f1"]), difference))
    return table(rows)


def variants(record: dict[str, Any]) -> str:
    """Tabulate variants with their size."""
    rows = [("variant", "parameters", "F1")]
    rows += [
        (current_wording(row["variant"]), f"{row['parameters'] / 1e6:.1f} M", spread(row["f1"]))
        for row in record["rows"]
    ]
    return table(rows)


def curve(record: dict[str, Any]) -> str:
    """Tabulate F1 by number of labeled documents."""
    return table(
        [("labeled documents", "F1"), *((f"{point['documents']:,}", spread(point["f1"])) for point in record["points"])]
    )


#: Runs with fewer hours are summed in one row.
MIN_HOURS = 0.15


def hours(record: dict[str, Any]) -> str:
    """Tabulate training time by experiment, the first folder below the one with all runs."""
    by_experiment: defaultdict[str, float] = defaultdict(float)
    for run, run_hours in record["runs"].items():
        by_experiment[PurePosixPath(run).parts[1]] += run_hours
    longest_first = sorted(by_experiment.items(), key=lambda item: -item[1])
    rows = [("experiment", "hours")]
    rows += [(name, f"{time:.1f}") for name, time in longest_first if time >= MIN_HOURS]
    rows.append(("others", f"{sum(time for time in by_experiment.values() if time < MIN_HOURS):.1f}"))
    return table([*rows, ("**total**", f"**{record['hours']:.1f}**")])


def pretraining(record: dict[str, Any]) -> str:
    """Tabulate masked language modeling on held-out pages during pre-training."""
    optimization = get_setting(record["config"], "optimization")
    tokens_per_step = get_setting(optimization, "max_batch_tokens") * get_setting(
        optimization, "gradient_accumulation_steps"
    )
    rows = [("step", "tokens processed, at most", "loss", "accuracy")]
    for row in record["held_out"]:
        tokens = f"{row['step'] * tokens_per_step / 1e6:.1f} M"
        rows.append((f"{row['step']:,}", tokens, f"{row['loss']:.2f}", f"{row['accuracy']:.1%}"))
    return table(rows)


def evaluation(record: dict[str, Any]) -> str:
    """Tabulate one model on test documents, by type, with calibration."""
    scores = record["orders"]["given"]
    kind = "fields" if "fields" in scores else "entities"
    low, high = scores[kind]["interval"]
    rows = [("field", "precision", "recall", "F1", "gold")]
    for name, part in [*scores[kind]["per_type"].items(), ("**all**", scores[kind])]:
        if part["gold"]:
            shares = (f"{100 * part[metric]:.1f}" for metric in ("precision", "recall", "f1"))
            rows.append((name, *shares, f"{part['gold']:,}"))
    calibration = scores["calibration"]
    passing = calibration["at_99_percent_precision"]
    summary = (
        f"\n{scores['documents']:,} documents; 95 % bootstrap interval of F1: {100 * low:.1f}–{100 * high:.1f}. "
        f"Expected calibration error {calibration['ece']:.3f}; {passing['share']:.0%} of predictions have a "
        f"confidence of at least {passing['threshold']:.3f}, at 99 % precision.\n"
    )
    return table(rows) + summary


#: Results of the shipped models: model, corpus, fields.
SHIPPED = {
    "receipts-sroie": ("receipts", "SROIE", "company, date, address, total"),
    "receipts-cord": ("receipts", "CORD", "items, prices, totals: 30 labels"),
    "ad-invoices": ("ad-invoices", "ad-buy", "contract, advertiser, gross amount, flight dates"),
}


def shipped(records: dict[str, Any]) -> str:
    """Tabulate the shipped models on test documents, with the words of the corpora and with OCR."""
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
        images = f"{corpus_name}, {records['ocr']['documents']:,} images, {engine}"
        rows.append((f"`{model}`", images, fields, f"{100 * part['fields']['f1']:.1f}", "", ""))
    return table(rows)


def ocr(record: dict[str, Any]) -> str:
    """Tabulate field scores by OCR engine, with the causes of lost values."""
    names = {"network": "model", "unsettled": "unexplained"}
    causes = {cause: names.get(cause, cause) for cause in record["losses"]}
    rows = [
        ("words from", "field F1", "F1, raster order", "seconds per page", "core-seconds per page", *causes.values())
    ]
    rows.append(("the corpus", f"{100 * record['own_words']['f1']:.1f}", "", "", "", *("" for _ in causes)))
    for name, part in record["engines"].items():
        f1 = (f"{100 * part[kind]['f1']:.1f}" for kind in ("fields", "fields_in_raster_order"))
        lost = (str(part["lost"][cause]) for cause in causes)
        rows.append((name, *f1, f"{part['seconds_a_page']:.1f}", f"{part['core_seconds_a_page']:.1f}", *lost))
    meanings = "".join(f"- *{causes[cause]}*: {current_wording(text)}\n" for cause, text in record["losses"].items())
    return table(rows) + f"\n{record['documents']:,} receipts. Causes of lost values:\n\n" + meanings


def spread(statistics: dict[str, Any]) -> str:
    """Format a mean in percent, with the standard deviation if there are several seeds."""
    deviation = "" if statistics["std"] is None else f" ± {100 * statistics['std']:.2f}"
    return f"{100 * statistics['mean']:.2f}{deviation}"
