"""The directory of a training run."""

from pathlib import Path

import pytest

from formnet.errors import SettingsError
from formnet.training.pretrain import completed_steps
from formnet.training.run_directory import claim_run_directory, last_checkpoint
from small_runs import small_run


def test_claim_run_directory_other_settings_raises(vocabulary: Path, tmp_path: Path) -> None:
    run = small_run(vocabulary, tmp_path, epochs=1)
    claim_run_directory(run, resume=True)
    claim_run_directory(run.model_copy(update={"save_minutes": 1.0}), resume=True)
    other = run.model_copy(update={"epochs": 2, "seed": 5})
    with pytest.raises(SettingsError, match=r"different settings \(epochs, seed\)"):
        claim_run_directory(other, resume=True)
    (tmp_path / "checkpoint-3").mkdir()
    (tmp_path / "trainer_state.json").touch()
    claim_run_directory(other, resume=False)
    assert not (tmp_path / "checkpoint-3").exists()
    assert not (tmp_path / "trainer_state.json").exists()
    claim_run_directory(other, resume=True)


def test_last_checkpoint_incomplete_is_skipped(tmp_path: Path) -> None:
    assert last_checkpoint(tmp_path) is None
    for step, state in ((5, '{"global_step": 5}'), (10, '{"global_'), (9, None), ("5.bak", '{"global_step": 5}')):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        if state:
            (folder / "trainer_state.json").write_text(state)
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-5"
    assert [completed_steps(tmp_path / f"checkpoint-{step}") for step in (5, 10, 9)] == [5, 0, 0]
