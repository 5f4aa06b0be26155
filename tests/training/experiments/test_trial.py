"""Finished runs are reused only for the same documents and labels."""

from dataclasses import replace
from pathlib import Path

import pytest

from formnet.errors import SettingsError
from formnet.io.readers import read
from formnet.io.writers import write
from formnet.training.experiments.trial import run_trial
from formnet.training.finetune import finetune
from formnet.training.run_directory import claim_run_directory
from small_runs import EXAMPLES, small_run


@pytest.mark.training
@pytest.mark.slow
def test_run_trial_changed_labels_raises(vocabulary: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    documents = list(read(EXAMPLES))
    write(documents, file)
    run = small_run(vocabulary, tmp_path / "run", corpus=f"jsonl:{file}", epochs=1)
    run_trial(run)
    first, *others = documents[0].entities
    write([replace(documents[0], entities=(replace(first, label=others[0].label), *others)), *documents[1:]], file)
    for train in (finetune, run_trial):
        with pytest.raises(SettingsError, match=r"other documents or labels\. .* pass --no-resume to start over"):
            train(run)
    finetune(run, resume=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLD_SIZE", "2")
        with pytest.raises(SettingsError, match="another number of processes"):
            claim_run_directory(run, resume=True, origin={"processes": 2})
        with pytest.raises(SettingsError, match="experiments run in one process"):
            run_trial(run)
