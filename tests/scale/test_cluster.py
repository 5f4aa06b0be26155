import pytest

from formnet.errors import SettingsError
from formnet.scale.cluster import cluster


def test_cluster_without_token_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    with pytest.raises(SettingsError, match="RAY_AUTH_MODE must be token"), cluster():
        pass
