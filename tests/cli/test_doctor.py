import json
import shutil
from pathlib import Path

import pytest
import torch

from command_line import runner
from formnet.cli import app
from formnet.extraction import pretrained


def test_doctor_json_lists_components() -> None:
    result = runner.invoke(app, ["doctor", "--json"])
    components = {component["name"]: component for component in json.loads(result.stdout)}
    assert components["torch"]["found"].startswith(torch.__version__)
    assert {"models", "rapidocr", "tesseract", "compiler"} <= set(components)


def test_doctor_reports_damaged_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not pretrained.find_damaged_files()
    shutil.copytree(pretrained._FOLDER, tmp_path / "models")
    with (tmp_path / "models/receipts/model-int8.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"x")
    (tmp_path / "models/invoices/tokenizer.json").unlink()
    monkeypatch.setattr(pretrained, "_FOLDER", tmp_path / "models")
    result = runner.invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "receipts/model-int8.safetensors, invoices/tokenizer.json was changed" in result.stdout


def test_recorded_sums_cover_all_shipped_weights() -> None:
    recorded = (pretrained._FOLDER / "SHA256SUMS").read_text(encoding="ascii")
    for name in pretrained.shipped_models():
        assert f"  {name}/model-int8.safetensors\n" in recorded
