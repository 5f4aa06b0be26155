import json
from pathlib import Path

import pytest

from command_line import runner
from formnet.cli import app
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.pretrained import absolute_name, find_model


def test_find_model_folder_or_raises(model: Path, tmp_path: Path) -> None:
    assert find_model(model) == model
    with pytest.raises(SettingsError, match=r"contains no config\.json"):
        find_model(tmp_path)
    with pytest.raises(SettingsError, match="'nothing': no such model"):
        find_model("nothing")
    with pytest.raises(SettingsError, match=r"'nobody/nothing': no such model or folder .* hf://owner/name"):
        find_model("nobody/nothing")
    for address in ("hf://nobody/nothing", "hf://nobody/nothing@v1", "hf://", "hf://../../etc"):
        with pytest.raises(SettingsError, match="cannot be downloaded from the Hub"):
            find_model(address)


def test_from_pretrained_corrupt_folder_raises(model: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(SettingsError, match="cannot load model"):
        Extractor.from_pretrained(tmp_path)
    (tmp_path / "config.json").write_bytes((model / "config.json").read_bytes())
    (tmp_path / "model-int8.safetensors").write_bytes(b"not weights")
    with pytest.raises(SettingsError, match="cannot load model"):
        Extractor.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_size": "wide"},
        {"task": {"heads": ["a"]}},
        {"task": {"heads": {"a": "b"}}},
        {"task": {"typo": 1}},
        {"id2label": {"0": 7}},
    ],
    ids=str,
)
def test_from_pretrained_invalid_config_raises(change: dict[str, object], model: Path, tmp_path: Path) -> None:
    for file in model.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((model / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(SettingsError, match="cannot load model"):
        Extractor.from_pretrained(tmp_path)


def test_absolute_name_shipped_model_is_not_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "receipts").mkdir()
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path)
    assert absolute_name("receipts") == "receipts"
    assert absolute_name("mine") == str(tmp_path / "mine")
    assert absolute_name("some/repository") == "some/repository"


def test_check_single_format_other_weights_raise(model: Path, extractor: Extractor, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"already contains a model as model\.safetensors"):
        extractor.save_pretrained(model, quantized=True)
    result = runner.invoke(app, ["export", str(model), str(model)])
    assert "already contains a model" in str(result.exception)
    extractor.save_pretrained(tmp_path, quantized=True)
    extractor.save_pretrained(tmp_path, quantized=True)
    with pytest.raises(SettingsError, match="as model-int8"):
        extractor.save_pretrained(tmp_path)


def test_from_pretrained_config_of_version_0_1_raises(model: Path, tmp_path: Path) -> None:
    for file in model.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((model / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "temperatures": [1.5]}))
    with pytest.raises(SettingsError, match=f"{tmp_path}: cannot load model: its config.json is of version 0.1"):
        Extractor.from_pretrained(tmp_path)
