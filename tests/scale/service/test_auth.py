from pathlib import Path

import pytest

from formnet.errors import SettingsError
from formnet.scale.service.app import build, run_service
from formnet.scale.service.auth import KEYS_VARIABLE, check_key, load_digests
from formnet.scale.service.errors import ApiError
from formnet.scale.service.settings import ServiceSettings


def test_load_digests_without_keys_returns_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEYS_VARIABLE, raising=False)
    assert load_digests(None) == ()


def test_load_digests_invalid_file_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEYS_VARIABLE, raising=False)
    (tmp_path / "keys").write_text("# none\n")
    with pytest.raises(SettingsError, match="contains no key"):
        load_digests(tmp_path / "keys")
    (tmp_path / "keys").write_text("short\n")
    with pytest.raises(SettingsError, match="has fewer than 8 characters"):
        load_digests(tmp_path / "keys")
    (tmp_path / "keys").write_text("long enough\n", encoding="utf-16")
    with pytest.raises(SettingsError, match="Save it as UTF-8"):
        load_digests(tmp_path / "keys")


def test_load_digests_file_with_byte_order_mark_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEYS_VARIABLE, raising=False)
    (tmp_path / "keys").write_text("long enough\n", encoding="utf-8-sig")
    assert len(load_digests(tmp_path / "keys")) == 1


@pytest.mark.parametrize("value", [" , ", " ", ""])
def test_load_digests_variable_without_keys_raises(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEYS_VARIABLE, "#secret123")
    assert len(load_digests(None)) == 1
    monkeypatch.setenv(KEYS_VARIABLE, value)
    with pytest.raises(SettingsError, match="contains no key"):
        load_digests(None)


def test_service_without_keys_is_not_open_to_other_machines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEYS_VARIABLE, raising=False)
    with pytest.raises(SettingsError, match="the service has no API keys"):
        build(ServiceSettings())
    assert build(ServiceSettings(allow_anonymous=True))
    for host in ("0.0.0.0", "192.0.2.7", "::"):
        with (
            pytest.raises(SettingsError, match=r"could use the service without a key.* --allow-anonymous"),
            run_service(ServiceSettings(), host, 8000),
        ):
            pass
    monkeypatch.setenv(KEYS_VARIABLE, "a long key")
    assert build(ServiceSettings())


def test_check_key_accepts_known_keys_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEYS_VARIABLE, "first key, second key")
    digests = load_digests(None)
    check_key("second key", digests)
    check_key("", ())
    for key, code in (("", "missing_api_key"), ("third key", "invalid_api_key")):
        with pytest.raises(ApiError) as rejected:
            check_key(key, digests)
        assert (rejected.value.status, rejected.value.code) == (401, code)
