import pytest

from formnet.errors import SettingsError
from formnet.scale.cluster import cluster


def test_cluster_without_token_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(SettingsError, match="RAY_AUTH_MODE must be token"), cluster():
        pass


def test_cluster_slow_start_is_repeated_and_then_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    attempts = []

    def time_out(address: str | None) -> None:
        attempts.append(address)
        raise Exception("The current node timed out during startup.")

    monkeypatch.setattr("formnet.scale.cluster._start_ray", time_out)
    with pytest.raises(SettingsError, match=r"cannot start Ray: .* timed out .* may be too busy\."), cluster():
        pass
    assert len(attempts) == 3
