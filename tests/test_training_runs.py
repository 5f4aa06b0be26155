"""Whole runs: what they learn, that death costs them nothing, and that two processes learn what one does."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmarks.hours import seconds_of
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.io.readers import read
from formnet.io.writers import write
from formnet.modeling import FormNetForMaskedLM, FormNetForTokenClassification
from formnet.training.config import FineTuning, PreTraining, make_settings
from formnet.training.experiments.trial import run_trial
from formnet.training.finetune import finetune
from formnet.training.initialization import load_start
from formnet.training.pretrain import pretrain, steps_done
from formnet.training.run_directory import claim_run_directory, last_checkpoint
from one_step import KINDS
from small_runs import QUICK, settings_for

HELPERS = Path(__file__).parent / "helpers"
ROOT = Path(__file__).parent.parent


def test_a_few_documents_are_learnt_by_heart(vocabulary: Path, tmp_path: Path) -> None:
    run = settings_for(vocabulary, tmp_path / "run", epochs=60)
    finetune(run)
    extractor = Extractor.from_pretrained(run.output)
    documents = list(read(ROOT / "examples/documents.jsonl"))
    for document, found in zip(documents, extractor.entities(documents), strict=True):
        assert [(e.label, e.words) for e in found] == sorted(
            ((e.label, e.words) for e in document.entities), key=lambda item: item[1]
        )


def test_heads_learn_their_own_tags_and_are_asked_apart(vocabulary: Path, tmp_path: Path) -> None:
    documents = list(read(ROOT / "examples/documents.jsonl"))
    entities = tuple(replace(entity, label=f"my {entity.label}") for entity in documents[0].entities)
    renamed = replace(documents[0], entities=entities, fields={})
    write(documents, tmp_path / "one.jsonl")
    write([renamed], tmp_path / "two.jsonl")
    corpora = [f"jsonl:{tmp_path / name}.jsonl" for name in ("one", "two")]
    run = settings_for(vocabulary, tmp_path / "run", epochs=60, corpus=corpora)
    finetune(run)
    extractor = Extractor.from_pretrained(run.output)
    assert list(extractor.heads) == ["jsonl", "jsonl-2"]
    both = {(e.label, e.words) for e in extractor.entities(documents[:1])[0]}
    assert both == {(e.label, e.words) for d in (documents[0], renamed) for e in d.entities}
    alone = extractor.entities(documents[:1], "jsonl-2")[0]
    assert {e.label for e in alone} == {e.label for e in renamed.entities}
    assert extractor.head_for({e.label for e in renamed.entities}) == "jsonl-2"


def test_a_handful_of_real_forms_is_learnt_by_heart(data: Path, tmp_path: Path) -> None:
    from formnet.evaluation.counts import sum_counts
    from formnet.evaluation.evaluate import judge
    from formnet.training.data import load_labeled

    run = make_settings(
        FineTuning,
        {
            "corpus": f"funsd:{data / 'funsd'}@train",
            "documents": 4,
            "start": {
                "size": "tiny",
                "tokenizer": str(data / "vocab/bert-base-uncased-vocab.txt"),
                "changes": {**QUICK, "hidden_size": 128},
            },
            "output": tmp_path,
            "epochs": 60,
            "optimization": {"learning_rate": 3e-3, "batch_documents": 2, "bf16": False},
        },
        "test",
    )
    extractor = finetune(run)
    judged, _ = judge(extractor, load_labeled(run)["funsd"].training)
    score = sum_counts(one.counts for one in judged).micro.score
    assert score.f1 == 1.0


def test_a_folder_belongs_to_one_run(vocabulary: Path, tmp_path: Path) -> None:
    run = settings_for(vocabulary, tmp_path, epochs=1)
    claim_run_directory(run, resume=True)
    claim_run_directory(run.model_copy(update={"save_minutes": 1.0}), resume=True)
    other = run.model_copy(update={"epochs": 2, "seed": 5})
    with pytest.raises(SettingsError, match="another epochs, seed"):
        claim_run_directory(other, resume=True)
    (tmp_path / "checkpoint-3").mkdir()
    (tmp_path / "trainer_state.json").touch()
    claim_run_directory(other, resume=False)
    assert not (tmp_path / "checkpoint-3").exists()
    assert not (tmp_path / "trainer_state.json").exists()
    claim_run_directory(other, resume=True)


def losses(output: Path) -> list[tuple[int, float]]:
    state = json.loads((output / "trainer_state.json").read_text())
    return [(entry["step"], entry["loss"]) for entry in state["log_history"] if "loss" in entry]


@pytest.mark.parametrize("command", ["train", "pretrain"])
def test_a_run_killed_goes_on_as_if_nothing_had_happened(
    vocabulary: Path, tmp_path: Path, pages: list[Path], command: str
) -> None:
    common = {
        "start": {"size": "tiny", "tokenizer": str(vocabulary), "changes": {"attention_backend": "blocked"}},
        "optimization": {"batch_documents": 2, "max_batch_tokens": 300, "bf16": True},
        "save_minutes": 0,
    }
    own = {
        "train": {
            "corpus": f"jsonl:{ROOT / 'examples/documents.jsonl'}",
            "epochs": 12,  # of two steps each: a checkpoint may be in the midst of what is logged as one
            "augmentation": {"drop": 0.1, "jitter": 0.1},
        },
        "pretrain": {"pages": [str(file) for file in pages], "steps": 24, "look_every": 1, "shuffle": 5},
    }[command]
    (tmp_path / "run.yaml").write_text(json.dumps({**common, **own, "output": str(tmp_path / "none")}))

    def start(output: Path) -> "subprocess.Popen[bytes]":
        arguments = [command, str(tmp_path / "run.yaml"), "--set", f"output={output}"]
        return subprocess.Popen(
            [sys.executable, "-m", "formnet.cli", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    whole, killed = tmp_path / "whole", tmp_path / "killed"
    assert start(whole).wait(timeout=300) == 0
    moment = random.randrange(4, 20)
    process = start(killed)
    while steps_done(killed) < moment and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL, "the run was over before it was killed"
    assert start(killed).wait(timeout=300) == 0
    assert losses(whole) == losses(killed)
    weights = [FormNetForTokenClassification if command == "train" else FormNetForMaskedLM] * 2
    one, other = (kind.from_pretrained(folder) for kind, folder in zip(weights, (whole, killed), strict=True))
    assert all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_a_checkpoint_that_was_being_written_is_passed_over(tmp_path: Path) -> None:
    assert steps_done(tmp_path) == 0
    for step, written in ((5, '{"global_step": 5}'), (10, '{"global_'), (9, None), ("5.bak", '{"global_step": 5}')):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        if written:
            (folder / "trainer_state.json").write_text(written)
    assert last_checkpoint(tmp_path) == tmp_path / "checkpoint-5"
    assert steps_done(tmp_path) == 5


def test_two_processes_give_the_gradients_of_one(vocabulary: Path, tmp_path: Path) -> None:
    script = str(HELPERS / "one_step.py")
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    for world in (1, 2):
        launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={world}"]
        arguments = [str(vocabulary), str(tmp_path / f"{world}")]
        done = subprocess.run(
            [*launch, script, *arguments], env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert done.returncode == 0, done.stderr
    for kind in KINDS:
        one, two = (torch.load(tmp_path / f"{world}/{kind}/gradients.pt", weights_only=True) for world in (1, 2))
        assert one.keys() == two.keys()
        for name in one:
            assert torch.allclose(one[name], two[name], rtol=1e-4, atol=1e-7), (kind, name)


def test_pretraining_learns_and_fine_tuning_starts_from_it(pages: list[Path], vocabulary: Path, tmp_path: Path) -> None:
    run = make_settings(
        PreTraining,
        {
            "pages": pages,
            "start": {"size": "tiny", "tokenizer": str(vocabulary), "changes": QUICK},
            "output": tmp_path / "pretrained",
            "steps": 80,
            "look_every": 10,
            "held_out_pages": 1,
            "shuffle": 8,
            "optimization": {"learning_rate": 3e-3, "max_batch_tokens": 600, "bf16": False},
        },
        "test",
    )
    seen = pretrain(run)
    assert pretrain(run) == seen  # what is over is not begun again
    assert [look["step"] for look in seen["held_out"]][-1] == run.steps
    curve = [loss for _, loss in losses(run.output)]
    assert curve[-1] < 0.9 * curve[0]
    history = json.loads((run.output / "trainer_state.json").read_text())["log_history"]
    looks = [entry["eval_loss"] for entry in history if "eval_loss" in entry]
    assert looks[-1] < looks[0]
    tuned = settings_for(vocabulary, tmp_path / "tuned", start={"checkpoint": run.output}, epochs=1)
    begun = load_start(tuned.start, FormNetForTokenClassification, id2label={0: "O"}, label2id={"O": 0})
    model = begun.model
    assert begun.new == {"classifier.weight", "classifier.bias"}  # all else was pre-trained
    before = FormNetForMaskedLM.from_pretrained(run.output)
    assert torch.equal(model.formnet.pieces.weight, before.formnet.pieces.weight)
    assert torch.equal(model.formnet.layers[1].expand.weight, before.formnet.layers[1].expand.weight)


def test_pauses_are_no_training() -> None:
    steps = [0.0, 10.0, 20.0, 20.0, 30.0, 1030.0, 1040.0]  # a look at the fourth point; asleep for 1,000 seconds
    assert seconds_of(steps) == 50.0
    assert seconds_of([0.0, 60.0]) == 60.0
    assert seconds_of([5.0]) == 0.0


def test_other_labels_are_not_taken_for_those_that_were_learnt(vocabulary: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.jsonl"
    documents = list(read(ROOT / "examples/documents.jsonl"))
    write(documents, file)
    run = settings_for(vocabulary, tmp_path / "run", corpus=f"jsonl:{file}", epochs=1)
    run_trial(run)
    first, *others = documents[0].entities
    write([replace(documents[0], entities=(replace(first, label=others[0].label), *others)), *documents[1:]], file)
    for again in (finetune, run_trial):
        with pytest.raises(SettingsError, match=r"other documents or labels; .* start anew: formnet train --no-resume"):
            again(run)
    finetune(run, resume=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORLD_SIZE", "2")
        with pytest.raises(SettingsError, match="another number of processes"):
            claim_run_directory(run, resume=True, origin={"processes": 2})
        with pytest.raises(SettingsError, match="experiments run in one process"):
            run_trial(run)
