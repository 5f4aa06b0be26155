"""Tables of links, line items and documents that need no review."""

from typing import Any

from benchmarks.tables.markdown import table
from benchmarks.tables.scores import share, spread

METRICS = {
    "donut_f1": "F1 of values (Donut's evaluator)",
    "nted": "tree accuracy (nTED)",
    "item_f1": "F1 of complete items",
    "parts_attached": "parts attached, labeled entities given",
    "f1_spans_given": "linking F1, labeled entities given",
}

#: Published linking F1 on FUNSD: name, with predicted entities (the protocol of BROS), with labeled entities.
PUBLISHED = (
    ("SPADE", "41.3", ""),
    ("BROS base, 110 M parameters, 11 million pages", "71.5", ""),
    ("BROS large", "77.0", ""),
    ("LayoutXLM base", "", "54.8"),
    ("LiLT", "", "62.8"),
    ("GeoLayoutLM", "", "89.5"),
)


def line_items(record: dict[str, Any]) -> str:
    """Tabulate structured output on CORD, with learned links and with links by position."""
    rows = [("score", "learned links", "links by position")]
    rows += [(name, f"**{spread(record[key])}**", spread(record["rule"][key])) for key, name in METRICS.items()]
    rows.append(("F1 of entities", spread(record["entity_f1"]), ""))
    return table(rows) + f"\n{record['documents']:,} documents, {len(record['seeds'])} seeds.\n"


def linking(record: dict[str, Any]) -> str:
    """Tabulate linking on FUNSD, next to published results."""
    millions = f"{record['parameters'] / 1e6:.0f} M parameters; {len(record['seeds'])} seeds"
    ours = (f"**FormNet (this repository)**, {millions}", spread(record["f1"]), spread(record["f1_spans_given"]))
    header = ("model", "linking F1", "linking F1, labeled entities given")
    return table([header, ours, *PUBLISHED]) + f"\nF1 of entities: {spread(record['entity_f1'])}.\n"


def variants(record: dict[str, Any]) -> str:
    """Tabulate variants on held-out documents by their links, next to the rule of position where it applies."""
    rows = [("variant", "parts attached", "parts attached by position", "linking F1", "entity F1")]
    for row in record["rows"]:
        scores = row["structure"]
        rule = spread(scores["rule"]["parts_attached"]) if "rule" in scores else ""
        links = (spread(scores["parts_attached"]), rule, spread(scores["f1"]))
        rows.append((row["variant"], *links, spread(row["f1"])))
    return table(rows)


def straight_through(record: dict[str, Any]) -> str:
    """Tabulate the documents that need no review, with and without checks."""
    rows = [("test documents", "checks", "accepted without review", "of these, every field correct", "and complete")]
    notes = ""
    for test, part in record["corpora"].items():
        name = test.partition(":")[0].upper()
        for key, checks in (("without_checks", "not used"), ("with_checks", "used")):
            rows.append((name, checks, *(share(part[key][figure]) for figure in ("rate", "precision", "complete"))))
        notes += (
            f"\n{name}: thresholds from {part['held_out_documents']:,} held-out documents. "
            f"Every reported field is correct on {share(part['correct'])} of the test documents. Of failed checks, "
            f"{share(part['failed_checks_on_errors'])} used a wrong value.\n"
        )
    return table(rows) + notes
