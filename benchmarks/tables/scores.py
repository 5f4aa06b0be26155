"""Tables of scores."""

from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Any

from benchmarks.tables.markdown import table
from benchmarks.tables.records import calibration_error

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
    """Tabulate one configuration trained with several seeds, by type, with published results of the same metric."""
    rows = [("model or subset", "F1", "conditions")]
    conditions = f"{record['parameters'] / 1e6:.0f} M parameters; {len(record['seeds'])} seeds"
    published = [
        (name, f"{f1:.2f}", f"{parameters} M parameters; {note}")
        for name, f1, parameters, note in PUBLISHED.get(record["test"].partition(":")[0], ())
    ]
    is_fields = record["scored"] == "fields"
    if is_fields:
        exact = spread(record["exact_string"])
        rows.append(("**FormNet (this repository)**, exact strings", f"**{exact}**", conditions))
        rows += published
    kind = "normalized values" if is_fields else "entities"
    rows.append((f"**FormNet (this repository)**, {kind}", f"**{spread(record['f1'])}**", conditions))
    deduplicated = record["not_in_training"]
    if 0 < deduplicated["documents"] < record["documents"]:
        excluded = record["documents"] - deduplicated["documents"]
        note = f"{excluded} documents excluded"
        rows.append(("without near-duplicates of training documents", spread(deduplicated["f1"]), note))
    if is_fields:
        rows.append(("entities, against aligned words", spread(record["spans"]), ""))
    rows += [(label, spread(f1), "this type only") for label, f1 in record["per_type"].items()]
    other_orders = list(record["by_order"].items())[1:]
    rows += [(f"{order} reading order", spread(f1), "all types") for order, f1 in other_orders]
    if "ensemble" in record:
        rows.append(("ensemble of these models", f"{100 * record['ensemble']:.2f}", "all types; tag scores averaged"))
    if is_fields:
        return table(rows)
    rows += published
    missed = max(sum(record["lost"].values()), 1)
    *parts, last = [f"{number / missed:.0%} {_MISSES[kind]}" for kind, number in record["lost"].items()]
    return table(rows) + f"\nOf {missed:.0f} missed entities, {', '.join(parts)} and {last}.\n"


#: Kinds of missed entities, as predicates.
_MISSES = {
    "unseen": "overlap no predicted entity",
    "mistyped": "were predicted with another type",
    "misplaced": "were predicted with other boundaries",
}


def ablation(record: dict[str, Any]) -> str:
    """Tabulate the ablation of the paper, by reading order in training and test."""
    orders = list(record["rows"][0]["f1"])
    rows = [("variant", "training order", *(f"F1, {order} order" for order in orders))]
    rows += [
        (row["variant"], row["trained_in"], *(spread(row["f1"][order]) for order in orders)) for row in record["rows"]
    ]
    return table(rows)


#: The ablation in Table 2 of the paper, with FormNet-A1: F1 by corpus and variant.
PUBLISHED_ABLATION = {
    "funsd": {"ETC": 65.90, "ETC + RichAtt": 82.22, "ETC + GCN": 79.37, "FormNet": 84.53},
    "cord": {"ETC": 91.57, "ETC + RichAtt": 96.03, "ETC + GCN": 95.81, "FormNet": 96.87},
}
#: What is added to which variant, and the result.
EFFECTS = (
    ("Rich Attention alone", "ETC", "ETC + RichAtt"),
    ("Rich Attention next to the graph", "ETC + GCN", "FormNet"),
    ("graph alone", "ETC", "ETC + GCN"),
    ("graph next to Rich Attention", "ETC + RichAtt", "FormNet"),
)


#: Ablations by the name of their results.
ABLATIONS = {
    "ablation": "pre-trained",
    "ablation-cord": "pre-trained",
    "ablation-without-pretraining": "not pre-trained",
}


def ablation_effects(records: dict[str, Any]) -> str:
    """Tabulate what each part adds to F1, as differences between variants with the same seed, next to the paper."""
    tested_in = list(records["ablation"]["rows"][0]["f1"])
    rows: list[tuple[str, ...]] = [("corpus", "variants", "effect", *(f"{o} order" for o in tested_in), "paper")]
    for source, record in records.items():
        corpus = record["test"].partition(":")[0]
        published = PUBLISHED_ABLATION[corpus]
        f1 = {row["variant"]: row["f1"] for row in record["rows"] if row["trained_in"] == "given"}
        for name, without, complete in EFFECTS:
            effects = (_difference(f1[without][order], f1[complete][order]) for order in tested_in)
            paper = signed(published[complete] - published[without])
            rows.append((corpus.upper(), ABLATIONS[source], name, *effects, paper))
    return table(rows)


def _difference(without: dict[str, Any], complete: dict[str, Any]) -> str:
    differences = [100 * (b - a) for a, b in zip(without["per_seed"], complete["per_seed"], strict=True)]
    deviation = f" ± {stdev(differences):.2f}" if len(differences) > 1 else ""
    return signed(fmean(differences)) + deviation


def signed(number: float) -> str:
    """Format a difference.

    >>> signed(-1.234)
    '−1.23'
    """
    return f"{number:+.2f}".replace("-", "−")


def folds(record: dict[str, Any]) -> str:
    """Tabulate variants on folds of the training documents, with the mean difference to the first variant."""
    rows = [("variant", *(f"F1, fold {fold}" for fold in record["folds"]), "mean", "difference")]
    first = record["rows"][0]["f1"]
    for row in record["rows"]:
        f1 = (f"{100 * value:.2f}" for value in row["f1"]["per_seed"])
        difference = "" if row["f1"] is first else _difference(first, row["f1"])
        rows.append((row["variant"], *f1, f"{100 * row['f1']['mean']:.2f}", difference))
    return table(rows)


def choices_by_head(record: dict[str, Any]) -> str:
    """Tabulate variants on held-out documents by head."""
    heads = list(record["rows"][0]["heads"])
    rows: list[tuple[str, ...]] = [("variant", *(f"F1 of {head}" for head in heads))]
    rows += [(row["variant"], *(spread(row["heads"][head]) for head in heads)) for row in record["rows"]]
    return table(rows)


def curve(record: dict[str, Any]) -> str:
    """Tabulate F1 by number of labeled documents, with a column for each start of training."""
    starts = list(dict.fromkeys(row["init"] for row in record["rows"]))
    cells = {
        (row["test"].partition(":")[0], point["documents"], row["init"]): spread(point["f1"])
        for row in record["rows"]
        for point in row["points"]
    }
    rows: list[tuple[str, ...]] = [("corpus", "labeled documents", *(f"F1 from {start}" for start in starts))]
    for name, number in sorted({key[:2] for key in cells}):
        rows.append((name.upper(), f"{number:,}", *(cells.get((name, number, start), "") for start in starts)))
    return table(rows)


def pretraining(record: dict[str, Any]) -> str:
    """Tabulate masked language modeling on held-out pages during pre-training."""
    optimization = record["config"]["optimization"]
    tokens_per_step = optimization["max_batch_tokens"] * optimization["gradient_accumulation_steps"]
    rows = [("step", "tokens processed, at most", "loss", "accuracy")]
    for row in record["held_out"]:
        tokens = f"{row['step'] * tokens_per_step / 1e6:.1f} M"
        rows.append((f"{row['step']:,}", tokens, f"{row['loss']:.2f}", f"{row['accuracy']:.1%}"))
    use = {edit.replace("_", " "): f"{part['accuracy']:.1%}" for edit, part in record.get("graph_use", {}).items()}
    text = f"\nThe graph: {', '.join(f'{edit} {accuracy}' for edit, accuracy in use.items())}.\n" if use else ""
    return table(rows) + text


def evaluation(record: dict[str, Any]) -> str:
    """Tabulate one model on test documents: by type, by reading order, and what its thresholds accept."""
    scores = record["orders"]["given"]
    kind = "fields" if "fields" in scores else "entities"
    rows = [("field", "precision", "recall", "F1", "gold")]
    for name, part in [*scores[kind]["per_type"].items(), ("**all**", scores[kind])]:
        if part["gold"]:
            shares = (f"{100 * part[metric]:.1f}" for metric in ("precision", "recall", "f1"))
            rows.append((name, *shares, f"{part['gold']:,}"))
    parts = [table(rows), _by_order(record, kind), _acceptance(scores, kind)]
    if "trees" in scores.get("structure", {}):
        parts.append(items_and_links(record))
    return "\n".join(parts)


def _by_order(record: dict[str, Any], kind: str) -> str:
    """Tabulate F1 by reading order, with other ways of counting."""
    duplicates = record["training"]["near_duplicates"]
    columns = ["reading order", "F1", "95 % interval", f"F1 without {duplicates} near-duplicates"]
    columns += ["F1, exact strings", "F1 of printed values"] if kind == "fields" else ["F1 of words"]
    rows = [tuple(columns)]
    for order, scores in record["orders"].items():
        part = scores[kind]
        low, high = part["interval"]
        f1s = [scores["not_in_training"][kind]["f1"]]
        f1s += [part["exact_string"]["f1"], part["printed"]["f1"]] if kind == "fields" else [scores["words"]["f1"]]
        interval = f"{100 * low:.1f}–{100 * high:.1f}"
        rows.append((order, f"{100 * part['f1']:.1f}", interval, *(f"{100 * f1:.1f}" for f1 in f1s)))
    return table(rows)


def items_and_links(record: dict[str, Any]) -> str:
    """Tabulate items and links by reading order, next to links by position."""
    header = ("items and links, reading order", "links", "F1 of values", "tree accuracy", "F1 of complete items")
    rows: list[tuple[str, ...]] = [(*header, "parts attached")]
    for order, scores in record["orders"].items():
        structure = scores["structure"]
        for name, trees, links in (
            ("learned", "trees", "links_entities_given"),
            ("by position", "trees_by_rule", "rule_entities_given"),
        ):
            figures = [structure[trees][metric] for metric in ("donut_f1", "nted", "item_f1")]
            figures.append(structure[links]["parts_attached"])
            rows.append((order, name, *(f"{100 * figure:.1f}" for figure in figures)))
    return table(rows)


def _acceptance(scores: dict[str, Any], kind: str) -> str:
    """Describe calibration, and what is accepted without review."""
    calibration = scores["calibration"]
    lines = [f"{scores['documents']:,} documents. Expected calibration error {calibration['ece']:.3f}."]
    accepted, documents = calibration.get("accepted", {}), calibration["documents"]
    if accepted and not accepted["precision"]["of"]:
        lines.append("No label has a threshold, so nothing is accepted without review.")
    elif accepted:
        lines.append(
            f"Accepted without review at a nominal {100 * accepted['nominal_precision']:.0f} %: "
            f"{share(accepted['coverage'])} of predictions, of which {share(accepted['precision'])} are correct; "
            f"{share(documents['coverage'])} of documents, of which {share(documents['precision'])} are complete and "
            "correct."
        )
    lines.append(f"Complete and correct documents: {share(calibration['documents']['complete'])}.")
    if kind == "fields":
        lines.append(f"Attainable values: {share(scores['fields']['attainable'])}.")
    return " ".join(lines) + "\n"


def share(proportion: dict[str, Any]) -> str:
    """Format a proportion with its exact 95 % interval and its counts."""
    if proportion["share"] is None:
        return "none"
    low, high = (100 * bound for bound in proportion["interval"])
    counts = f"{proportion['right']:,} of {proportion['of']:,}"
    return f"{100 * proportion['share']:.1f} % ({low:.1f}–{high:.1f}; {counts})"


#: Results of the shipped models: model, corpus, fields.
SHIPPED = {
    "receipts-sroie": ("receipts", "SROIE", "merchant, address, date, total"),
    "receipts-cord": ("receipts", "CORD", "items, prices, totals: 30 labels"),
}


def shipped(records: dict[str, Any]) -> str:
    """Tabulate the shipped models on test documents, with the words of the corpora and with OCR."""
    rows: list[tuple[str, ...]] = [
        (
            "model",
            "test documents",
            "fields",
            "F1",
            "F1, raster order",
            "calibration error",
            "accepted",
            "of these correct",
        )
    ]
    for name, (model, corpus_name, fields) in SHIPPED.items():
        orders = records[name]["orders"]
        documents = f"{corpus_name}, {orders['given']['documents']:,}"
        f1s = (scores.get("fields", scores["entities"])["f1"] for scores in (orders["given"], orders["raster"]))
        calibration = orders["given"]["calibration"]
        accepted = calibration.get("accepted", {})
        shares = (accepted.get(key, {}).get("share") for key in ("coverage", "precision"))
        rows.append(
            (
                f"`{model}`", documents, fields, *(f"{100 * f1:.1f}" for f1 in f1s), f"{calibration['ece']:.3f}",
                *("" if value is None else f"{value:.1%}" for value in shares),
            )
        )  # fmt: skip
    model, corpus_name, fields = SHIPPED["receipts-sroie"]
    for part in records["ocr"]["engines"].values():
        images = f"{corpus_name}, {records['ocr']['documents']:,} images, {part['engine']}"
        rows.append((f"`{model}`", images, fields, f"{100 * part['views']['upright']['f1']:.1f}", "", "", "", ""))
    return table(rows)


def calibration(record: dict[str, Any]) -> str:
    """Tabulate the held-out predictions that calibration is fitted on and, with several folds, methods on each fold."""
    rows = [("model", "head", "folds", "held-out documents", "predictions", "correct", "labels with a threshold")]
    methods = [("model", "head", "method", "calibration error", "log loss", "accepted", "of these correct")]
    for model, part in record["models"].items():
        for head, labels in part["calibration"].items():
            parts = [fold["heads"][head] for fold in part["folds"]]
            outcomes = [label["correct"] for fold in parts for label in fold["outcomes"].values()]
            correct, total = sum(map(sum, outcomes)), sum(map(len, outcomes))
            documents = sum(fold["documents"] for fold in parts)
            chosen = sum(label["threshold"] is not None for label in labels.values())
            counts = (f"{documents:,}", f"{total:,}", f"{correct / total:.1%}", f"{chosen} of {len(labels)}")
            rows.append((f"`{model}`", head or "all", str(part["number_of_folds"]), *counts))
        for head, held_out in part["held_out"].items():
            for method, quality in held_out["methods"].items():
                in_use = method == "platt by label"
                accepted = (share(held_out["coverage"]), share(held_out["precision"])) if in_use else ("", "")
                figures = (f"{quality['ece']:.4f}", f"{quality['log_loss']:.4f}")
                methods.append((f"`{model}`", head or "all", method, *figures, *accepted))
    return table(rows) + ("\n" + table(methods) if len(methods) > 1 else "")


def reference_lists(record: dict[str, Any]) -> str:
    """Tabulate the share of correct values before and after matching them with a list."""
    rows: list[tuple[str, ...]] = [
        ("value", "documents", "correct as extracted", "correct with the list", "matched", "matched with a wrong entry")
    ]
    for name, part in (("in the list", record["listed"]), ("not in the list", record["not_listed"])):
        shares = (part[key] for key in ("correct", "correct_with_list", "matched", "matched_wrongly"))
        rows.append((name, f"{part['correct']['of']:,}", *map(share, shares)))
    return table(rows) + f"\n{record['entries']:,} entries.\n"


def us_receipts(record: dict[str, Any]) -> str:
    """Tabulate scores on photos of US receipts by type."""
    columns = ("field", "labeled", "found", "correct", "precision", "recall", "F1", "within one character", "oracle")
    before = record.get("before")
    rows: list[tuple[str, ...]] = [(*columns, "F1 before") if before else columns]
    for name in [*record["per_type"], "all"]:
        part, nearly, oracle = (
            record[key]["per_type"].get(name, record[key]) if key else record["per_type"].get(name, record)
            for key in ("", "within_one_character", "oracle")
        )
        counts = (f"{part[key]:,}" for key in ("gold", "found", "right"))
        figures = [part["precision"], part["recall"], part["f1"], nearly["f1"], oracle["f1"]]
        if before:
            figures.append(before["per_type"].get(name, before["f1"]))
        rows.append((name, *counts, *(f"{100 * figure:.1f}" for figure in figures)))
    sentences = [f"{record['documents']:,} photos, {record['engine']}.", *calibration_error(record)]
    return f"{table(rows)}\n{' '.join(sentences)}\n"


#: Names of views in tables.
_VIEWS = {"90": "turned by 90°", "180": "turned by 180°", "270": "turned by 270°", "tilted": "tilted by up to 10°"}


def ocr(record: dict[str, Any]) -> str:
    """Tabulate field scores by OCR engine and view, and the causes of lost values on upright pages."""
    causes = {cause: {"network": "model"}.get(cause, cause) for cause in record["losses"]}
    fields = list(record["corpus_words"]["per_type"])
    rows = [("words from", "pages", "F1", *fields, "within one character", "oracle", *causes.values())]
    rows.append(("the corpus", "", *_field_f1s(record["corpus_words"], fields), "", "", *("" for _ in causes)))
    for engine in record["engines"].values():
        for view, part in engine["views"].items():
            best = (f"{100 * part[kind]['f1']:.1f}" for kind in ("within_one_character", "oracle"))
            lost = (str(part["lost"][cause]) for cause in causes)
            rows.append((engine["engine"], _VIEWS.get(view, view), *_field_f1s(part, fields), *best, *lost))
    meanings = "".join(f"- *{causes[cause]}*: {text}\n" for cause, text in record["losses"].items())
    return table(rows) + f"\n{record['documents']:,} receipts. Causes of lost values:\n\n" + meanings


def _field_f1s(part: dict[str, Any], fields: Sequence[str]) -> tuple[str, ...]:
    f1s = (part["f1"], *(part["per_type"][field]["f1"] for field in fields))
    return tuple(f"{100 * f1:.1f}" for f1 in f1s)


def spread(statistics: dict[str, Any]) -> str:
    """Format a mean in percent, with the standard deviation if there are several seeds."""
    deviation = "" if statistics["std"] is None else f" ± {100 * statistics['std']:.2f}"
    return f"{100 * statistics['mean']:.2f}{deviation}"
