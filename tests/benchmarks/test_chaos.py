from pathlib import Path

import pytest

from benchmarks import chaos
from formnet.document import Document
from formnet.errors import SettingsError


@pytest.fixture
def _can_mount() -> None:
    """Skip a test where a small disk cannot be mounted, as without root or in most containers."""
    try:
        with chaos.small_disk():
            pass
    except SettingsError as error:
        pytest.skip(str(error))


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.usefixtures("_can_mount")
def test_run_short_chaos_loses_nothing(
    model: Path, documents: list[Document], examples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chaos, "_KILL_SECONDS", (5.0, 7.0))
    monkeypatch.setattr(chaos, "_FULL_SECONDS", 3.0)
    result = chaos.run(
        str(model), documents[:2], examples / "receipt.jpg", 0.3, options=["--no-warm-up", "--timeout", "30"]
    )
    assert sum(result["kills"].values()) >= 2
    assert result["honest"]["200"] > 2
    assert (result["wrong_answers"], result["lost_requests"], result["unexpected_responses"]) == ([], [], [])
    assert (result["processes_left"], result["files_left"]) == ([], [])
