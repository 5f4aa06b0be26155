import json
from pathlib import Path

import pytest

from benchmarks.__main__ import app
from command_line import run_for_stdout
from paper import picture


@pytest.mark.ocr
@pytest.mark.slow
def test_ocr_cost_compares_libraries_on_the_same_text(tmp_path: Path) -> None:
    for number in range(2):
        picture().save(tmp_path / f"{number}.png")
    (tmp_path / "note.txt").write_text("not an image")
    result = json.loads(
        run_for_stdout("ocr-cost", str(tmp_path), "--cold-starts", "0", "--requests", "0", "--json", app=app)
    )
    assert (result["pages"], result["same_text"]) == (2, 2)
    assert [row["engine"] for row in result["rows"][:2]] == ["rapidocr:openvino", "rapidocr:onnxruntime"]
    assert all(row["core_seconds_per_page"] > 0 for row in result["rows"])
    assert result["ratio_to_onnxruntime"] > 0
