from pathlib import Path

import pytest

from formnet.extraction import runtime


def test_available_cores_respects_container_quota(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("150000 100000\n")
    (tmp_path / "quota").write_text("-1\n")
    (tmp_path / "period").write_text("100000\n")
    assert runtime._quota((str(tmp_path / "cpu.max"),)) == 2
    assert runtime._quota((str(tmp_path / "quota"), str(tmp_path / "period"))) > 10_000
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert runtime._quota((str(tmp_path / "cpu.max"),)) > 10_000
    monkeypatch.setattr(runtime, "_QUOTA_FILES", ((str(tmp_path / "one"),),))
    (tmp_path / "one").write_text("100000 100000")
    assert runtime.available_cores() == 1
