from pathlib import Path

import pytest

from formnet.scale.service.settings import ServiceSettings, model_name


def test_settings_equal_model_names_raises() -> None:
    with pytest.raises(ValueError, match="model names must differ, but they are receipts, receipts"):
        ServiceSettings(models=["a/receipts", "b/receipts"])


def test_settings_unknown_engine_raises() -> None:
    with pytest.raises(ValueError, match="unknown OCR engine 'tesserakt'"):
        ServiceSettings(ocr="tesserakt")


def test_settings_auto_engine_resolves_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMNET_OCR", "tesseract")
    assert ServiceSettings().ocr == "tesseract"
    assert ServiceSettings(ocr="rapidocr").ocr == "rapidocr"


def test_read_limits_follow_settings() -> None:
    limits = ServiceSettings(max_bytes=1, max_pages=2, max_pixels=3).read_limits
    assert (limits.max_file_bytes, limits.max_pages, limits.max_pixels) == (1, 2, 3)


def test_model_name_current_folder_returns_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert model_name(".") == tmp_path.name
