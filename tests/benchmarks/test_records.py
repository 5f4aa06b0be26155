import json
from pathlib import Path

import pytest

from benchmarks.__main__ import app
from benchmarks.real_invoices import read_invoice2data, read_samples
from benchmarks.records import find_paths
from benchmarks.tables.records import compared_models, records
from command_line import run_for_stdout
from formnet.extraction.pretrained import find_model
from formnet.extraction.schema import Schema

ROOT = Path(__file__).parents[2]
SCHEMA = Schema.read(ROOT / "configs/schemas/invoices.json")


def test_find_paths_separates_header_from_items() -> None:
    labels = ("vendor.name", "total", "line_items.total", "line_items.description", "line_items.modifiers.total")
    assert find_paths(labels) == (["vendor.name", "total"], ["total", "description"])


def test_sample_invoices_have_fields_of_the_schema() -> None:
    labels = set(SCHEMA.by_label)
    files = read_samples(Path("samples"), ROOT / "tests/sample_invoices.json")
    assert len(files) == 9
    for _, record, _ in files:
        assert set(record.fields) <= labels
        assert {f"line_items.{name}" for item in record.items for name in item} <= labels


def test_read_invoice2data_takes_key_values(data: Path) -> None:
    files = {file.path.stem: file.record.fields for file in read_invoice2data(data / "invoice2data")}
    assert len(files) == 11
    assert files["QualityHosting"] == {
        "vendor.name": "QualityHosting AG",
        "invoice_number": "30064443",
        "invoice_date": "2014-05-07",
        "subtotal": "34.73",
        "total": "34.73",
    }


@pytest.mark.slow
def test_records_scores_fields_and_items(data: Path) -> None:
    result = json.loads(run_for_stdout("records", "invoices", f"invoices:{data}/invoices@validation", app=app))
    assert result["documents"] == 50
    assert result["per_type"]["invoice_number"]["gold"] == 50
    assert result["items"]["gold"] == 285
    assert result["per_type"]["currency"]["right"] > 0  # its path in the schema is printed_currency
    assert 0 < result["f1"] < 1


def test_records_table_states_what_is_printed() -> None:
    part = {"precision": 0.5, "recall": 0.5, "f1": 0.5, "gold": 2, "found": 2, "right": 1}
    record = {**part, "documents": 3, "per_type": {}, "item_values": {}, "has_links": True, "items": part}
    assert "would reach" not in records(record)
    text = records({**record, "oracle": {**part, "f1": 0.91, "items": {**part, "f1": 0.84}}})
    assert "3 documents. Finding all that is printed would reach 91.0 (header fields) and 84.0 (items)." in text


def test_compare_models_scores_models_on_the_same_documents(tmp_path: Path) -> None:
    file = tmp_path / "receipts.jsonl"
    run_for_stdout("data", "generate", str(file), "--count", "2")
    models = ("--model", "receipts", "--model", str(find_model("receipts")))
    schema = ("--schema", str(ROOT / "configs/schemas/receipts.json"))
    result = json.loads(run_for_stdout("compare-models", *models, f"jsonl:{file}", *schema, app=app))
    assert [row["documents"] for row in result["rows"]] == [2, 2]
    assert result["rows"][0]["f1"] == result["rows"][1]["f1"] > 0.5
    assert result["rows"][0]["per_type"]["total"]["gold"] == 2


def test_compared_models_have_a_column_each() -> None:
    part = {"corpus": "cord:data/cord@dev", "documents": 1, "f1": 0.5, "per_type": {"total": {"f1": 0.5, "gold": 1}}}
    text = compared_models({"rows": [{**part, "model": f"runs/{name}/seed-0"} for name in ("real", "real-and-other")]})
    assert "| documents | field | labeled | real | real and other |" in text
    assert "| cord, 1 | total | 1 | 50.0 | 50.0 |" in text
