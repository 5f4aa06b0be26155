"""Resuming killed runs, and training in several processes."""

import json
import random
import signal
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
import torch

import one_step
from formnet.modeling import FormNetForMaskedLM, FormNetForTokenClassification
from formnet.training.pretrain import completed_steps
from formnet.training.run_directory import last_checkpoint
from processes import launch_processes, run_command, start_process
from small_runs import EXAMPLES

TIMEOUT = 300

pytestmark = [pytest.mark.training, pytest.mark.slow]


def read_losses(output: Path) -> list[tuple[int, float]]:
    state = json.loads((output / "trainer_state.json").read_text())
    return [(entry["step"], entry["loss"]) for entry in state["log_history"] if "loss" in entry]


def saved_steps(output: Path) -> int:
    checkpoint = last_checkpoint(output)
    return 0 if checkpoint is None else completed_steps(checkpoint)


@pytest.mark.parametrize("command", ["train", "pretrain"])
def test_trainer_killed_run_resumes_with_identical_result(
    vocabulary: Path, tmp_path: Path, pages: list[Path], command: str
) -> None:
    common = {
        "init": {"size": "tiny", "tokenizer": str(vocabulary)},
        "optimization": {"max_batch_documents": 2, "max_batch_tokens": 300, "bf16": True, "compile": False},
        "save_minutes": 0,
        "threads": 2,
    }
    own = {
        "train": {
            "corpus": f"jsonl:{EXAMPLES}",
            "optimization": {**common["optimization"], "average_decay": 0.8},
            "epochs": 12,  # of two steps each, so that a checkpoint may be between two log entries
            "augmentation": {"word_dropout": 0.1, "jitter": 0.1},
        },
        "pretrain": {"pages": [str(file) for file in pages], "steps": 24, "eval_every": 1, "shuffle_buffer": 5},
    }[command]
    config = tmp_path / "run.yaml"
    config.write_text(json.dumps({**common, **own, "output": str(tmp_path / "none")}))
    complete, killed, log = tmp_path / "complete", tmp_path / "killed", tmp_path / "log.txt"

    def start(output: Path) -> ForkServerProcess:
        return start_process(log, run_command, command, str(config), "--set", f"output={output}")

    kill_step = random.randrange(4, 20)
    process = start(killed)
    while saved_steps(killed) < kill_step and process.is_alive():
        time.sleep(0.01)
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL, "the run finished before it was killed"
    for run in [start(complete), start(killed)]:  # at the same time
        run.join(TIMEOUT)
        assert run.exitcode == 0, log.read_text()
    assert read_losses(complete) == read_losses(killed)
    model_class = FormNetForTokenClassification if command == "train" else FormNetForMaskedLM
    expected, resumed = (model_class.from_pretrained(folder) for folder in (complete, killed))
    assert all(torch.equal(a, b) for a, b in zip(expected.parameters(), resumed.parameters(), strict=True))


def test_trainer_two_processes_compute_gradients_of_one(vocabulary: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    single = start_process(log, one_step.main, str(vocabulary), str(tmp_path / "1"))
    launch_processes(2, log, one_step.main, str(vocabulary), str(tmp_path / "2"))
    single.join(TIMEOUT)
    assert single.exitcode == 0, log.read_text()
    for kind in one_step.KINDS:
        origins = [json.loads((tmp_path / f"{count}/{kind}/origin.json").read_text()) for count in (1, 2)]
        assert [origin["processes"] for origin in origins] == [1, 2]
        one, two = (torch.load(tmp_path / f"{count}/{kind}/gradients.pt", weights_only=True) for count in (1, 2))
        assert one.keys() == two.keys()
        for name in one:
            assert torch.allclose(one[name], two[name], rtol=1e-4, atol=1e-7), (kind, name)
