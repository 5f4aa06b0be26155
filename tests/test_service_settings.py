"""The service without Ray: settings that cannot be, and names of files that are only shown."""

import socket
from pathlib import Path

import pytest

from formnet.errors import SettingsError
from formnet.scale.service.app import _refuse_taken
from formnet.scale.service.auth import load_digests
from formnet.scale.service.request_body import plain_name
from formnet.scale.service.settings import Settings, name_of


def test_settings_that_cannot_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="both be called"):
        Settings(models=["a/receipts", "b/receipts"])
    with pytest.raises(ValueError, match="no OCR engine 'tesserakt'"):
        Settings(ocr="tesserakt")
    monkeypatch.chdir(tmp_path)
    assert name_of(".") == tmp_path.name
    monkeypatch.delenv("FORMNET_API_KEYS", raising=False)
    assert load_digests(None) == ()
    (tmp_path / "keys").write_text("# none\n")
    with pytest.raises(SettingsError, match="holds no key"):
        load_digests(tmp_path / "keys")
    (tmp_path / "keys").write_text("short\n")
    with pytest.raises(SettingsError, match="too easily guessed"):
        load_digests(tmp_path / "keys")
    (tmp_path / "keys").write_text("long enough\n", encoding="utf-16")
    with pytest.raises(SettingsError, match="Save it as UTF-8"):
        load_digests(tmp_path / "keys")
    (tmp_path / "keys").write_text("long enough\n", encoding="utf-8-sig")
    assert len(load_digests(tmp_path / "keys")) == 1


def test_the_engine_is_the_one_chosen_where_the_service_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMNET_OCR", "tesseract")
    assert Settings().ocr == "tesseract"
    assert Settings(ocr="rapidocr").ocr == "rapidocr"


def test_an_address_may_be_a_long_one() -> None:
    try:
        taken = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("there is no IPv6 here")
    with taken:
        _refuse_taken("::1", 0)
        with pytest.raises(SettingsError, match="cannot listen on ::1"):
            _refuse_taken("::1", taken.getsockname()[1])


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "..", "a/../../b", "C:\\x\\b", "nul\0b", "\u202eb", "x" * 999, "", None]
)
def test_names_are_only_shown(name: str | None) -> None:
    assert 0 < len(plain_name(name)) <= 200
    assert not {*"/\\\0\u202e"} & set(plain_name(name))
