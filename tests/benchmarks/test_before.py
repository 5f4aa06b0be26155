"""Scores of an earlier model next to those of the present one."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import app
from benchmarks.before import add_before
from benchmarks.tables.records import records
from command_line import run_for_stdout

ROOT = Path(__file__).parents[2]
WILDRECEIPT = ROOT / "results/wildreceipt.json"


def test_before_command_adds_scores_to_the_table(tmp_path: Path) -> None:
    earlier = json.loads(WILDRECEIPT.read_text(encoding="utf-8"))
    earlier["per_type"]["date"]["f1"] = 0.125
    (tmp_path / "old.json").write_text(json.dumps(earlier))
    (tmp_path / "new.json").write_text(WILDRECEIPT.read_text(encoding="utf-8"))
    run_for_stdout("before", str(tmp_path / "old.json"), str(tmp_path / "new.json"), app=app)
    record = json.loads((tmp_path / "new.json").read_text())
    assert record["before"]["commit"] == earlier["commit"]
    header, _, *rows = records(record).splitlines()
    assert header.endswith("| F1 before |")
    assert next(row for row in rows if row.startswith("| date")).endswith("| 12.5 |")


def test_add_before_reads_the_records_of_evaluate() -> None:
    record = json.loads((ROOT / "results/receipts-cord.json").read_text(encoding="utf-8"))
    before = add_before(record, record)["before"]
    assert before["f1"] == record["f1"]
    per_type = record["orders"]["given"]["entities"]["per_type"]
    assert before["per_type"] == {name: part["f1"] for name, part in per_type.items()}


def test_add_before_of_another_corpus_raises() -> None:
    record = json.loads(WILDRECEIPT.read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match=r"of cord:data/cord@test, not of wildreceipt:"):
        add_before(record, {**record, "corpus": "cord:data/cord@test"})
