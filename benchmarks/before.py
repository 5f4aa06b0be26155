"""Scores of an earlier model, kept next to those of the present one."""

from typing import Any


def add_before(record: dict[str, Any], earlier: dict[str, Any]) -> dict[str, Any]:
    """Return a record of scores with the F1 of an earlier record as `before`: of all values, by type and of items."""
    if _corpus(record) != _corpus(earlier):
        raise ValueError(f"the earlier scores are of {_corpus(earlier)}, not of {_corpus(record)}")
    return {**record, "before": {"commit": earlier["commit"], "model": earlier["model"], **_f1s(earlier)}}


def _corpus(record: dict[str, Any]) -> str:
    """Return what a record is of: its corpus or, for collections of files, its number of documents."""
    return str(record.get("corpus", f"{record.get('documents')} documents"))


def _f1s(record: dict[str, Any]) -> dict[str, Any]:
    if "orders" in record:  # as `formnet evaluate` writes it
        given = record["orders"]["given"]
        record = {**given.get("fields", given["entities"]), "f1": record["f1"]}
    scores: dict[str, Any] = {"f1": record["f1"]}
    for name in ("per_type", "item_values"):
        if record.get(name):
            scores[name] = {key: part["f1"] for key, part in record[name].items() if part}
    for name in ("key_fields", "items"):
        if record.get(name):
            scores[name] = record[name]["f1"]
    if "collections" in record:
        scores["collections"] = {key: _f1s(part) for key, part in record["collections"].items()}
    return scores
