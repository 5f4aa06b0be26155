import json
from pathlib import Path

import pytest

from benchmarks.__main__ import app
from benchmarks.us_receipts import read_labels
from command_line import run_for_stdout
from paper import picture

LABELS = {"merchant": "ACME STORES", "date": "2019-03-04", "time": "HH:MM:SS", "tax": 0.0, "total": 12.5, "tip": 3.0}


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    picture().save(tmp_path / "slip.png")
    label = {"id": "slip", "image": "slip.png", "width": 600, "height": 800, "fields": LABELS}
    (tmp_path / "labels.jsonl").write_text(json.dumps(label) + "\n")
    return tmp_path


def test_read_labels_leaves_out_what_is_not_printed(photos: Path) -> None:
    (document,) = read_labels(photos)
    assert document.fields == {"merchant": "ACME STORES", "date": "2019-03-04", "total": "12.50"}
    assert (document.pages[0].width, document.pages[0].image) == (600, photos / "slip.png")


@pytest.mark.ocr
@pytest.mark.slow
def test_us_receipts_scores_values_by_type(photos: Path) -> None:
    readings = photos / "words.jsonl"
    result = json.loads(run_for_stdout("us-receipts", "receipts", str(photos), "--readings", str(readings), app=app))
    assert result["documents"] == 1
    assert {name: part["gold"] for name, part in result["per_type"].items()}["total"] == 1
    assert result["oracle"]["per_type"]["total"]["right"] == 1
    assert result["oracle"]["right"] >= result["right"]
    assert readings.is_file()
