"""Pre-training, and fine-tuning from its checkpoint."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from command_line import run_for_stdout
from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.encoding import Encoder
from formnet.errors import SettingsError
from formnet.io.readers import read
from formnet.io.writers import write
from formnet.modeling import FormNetForMaskedLM, FormNetForTokenClassification
from formnet.training.config import PreTraining, is_pretraining, make_settings
from formnet.training.experiments.compare_pretraining import compare_pretraining
from formnet.training.hidden_positions import (
    FormNetForHiddenPositions,
    collate_positions,
    hide_positions,
)
from formnet.training.initialization import initialize
from formnet.training.masked_lm import Masker, masked_batch
from formnet.training.pretrain import pretrain
from formnet.training.run_directory import last_checkpoint, read_state
from formnet.training.trainer import SaveByTime
from small_runs import SMALL_MODEL, small_run


def some_words(document: Document, number: int) -> Document:
    """Return the first page with six tenths of its words, so that no two pages are near-duplicates."""
    page = document.pages[0]
    kept = np.sort(np.random.default_rng(number).permutation(len(page.texts))[: len(page.texts) * 6 // 10])
    builder = DocumentBuilder(f"page {number}")
    builder.add_page([page.texts[i] for i in kept], page.boxes[kept].tolist(), page.width, page.height)
    return builder.build()


def small_pretraining(pages: list[Path], vocabulary: Path, output: Path, **settings: Any) -> PreTraining:
    optimization = {"learning_rate": 5e-3, "max_batch_tokens": 600, "bf16": False, "compile": False}
    data = {
        "pages": pages,
        "init": {"size": "tiny", "tokenizer": str(vocabulary), "overrides": SMALL_MODEL},
        "output": output,
        "held_out_pages": 1,
        "shuffle_buffer": 8,
        "optimization": optimization,
        **settings,
    }
    return make_settings(PreTraining, data, "test")


@pytest.fixture
def different_pages(documents: list[Document], tmp_path: Path) -> list[Path]:
    """Two files of twelve pages, of which no two are near-duplicates."""
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    for number, file in enumerate(files):
        write([some_words(documents[i % 2], 20 * number + i) for i in range(12)], file)
    return files


class KilledError(Exception):
    """Raised instead of the signal that would end the process."""


@pytest.mark.training
@pytest.mark.slow
def test_pretrain_killed_and_resumed_gives_the_same_weights(
    different_pages: list[Path], vocabulary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"steps": 14, "eval_every": 4, "save_minutes": 0.0, "raster": 0.5}
    settings["corpora"] = [f"jsonl:{different_pages.pop()}"]
    full = small_pretraining(different_pages, vocabulary, tmp_path / "full", **settings)
    pretrain(full)
    run = small_pretraining(different_pages, vocabulary, tmp_path / "killed", **settings)
    on_step_end = SaveByTime.on_step_end

    def kill(callback: SaveByTime, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:
        if state.global_step == 9:
            raise KilledError
        return on_step_end(callback, args, state, control, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(SaveByTime, "on_step_end", kill)
        with pytest.raises(KilledError):
            pretrain(run)
    checkpoint = last_checkpoint(run.output)
    assert checkpoint is not None
    assert (checkpoint / "stream-0.json").is_file()
    monkeypatch.setattr("formnet.training.pretrain.split_pages", None)  # pages are not split again
    pretrain(run)
    expected, resumed = (load_file(r.output / "model.safetensors") for r in (full, run))
    assert all(torch.equal(expected[name], resumed[name]) for name in expected)
    states = [read_state(r.output) for r in (full, run)]
    assert states[0] is not None
    assert states[1] is not None
    assert [entry.get("eval_loss") for entry in states[0]["log_history"]] == [
        entry.get("eval_loss") for entry in states[1]["log_history"]
    ]


@pytest.mark.training
@pytest.mark.slow
def test_compare_pretraining_reports_each_variant_with_its_use_of_the_graph(
    different_pages: list[Path], vocabulary: Path, tmp_path: Path
) -> None:
    run = small_pretraining(different_pages, vocabulary, tmp_path / "runs", steps=4, eval_every=2)
    config = tmp_path / "pretrain.yaml"
    config.write_text(run.model_dump_json(exclude={"optimization": {"bf16"}}))
    assert is_pretraining(config)
    (tmp_path / "variants.yaml").write_text(
        "graph: []\nno graph: [init.overrides.super_tokens=false]\n", encoding="utf-8"
    )
    output = run_for_stdout("compare", str(config), str(tmp_path / "variants.yaml"), "--seed", "0", "--seed", "1")
    with_graph, without_graph = json.loads(output)["rows"]
    assert len(with_graph["accuracy"]["per_seed"]) == len(without_graph["curves"]) == 2
    assert [point["step"] for point in with_graph["curves"][0]] == [2, 4]
    assert set(with_graph["graph_use"]) == {"as_is", "messages_cut", "edges_shuffled", "edge_features_zeroed"}
    assert without_graph["graph_use"] == {}

    out = tmp_path / "variants.json"
    one_by_one = ("compare", str(config), str(tmp_path / "variants.yaml"), "--out", str(out))
    run_for_stdout(*one_by_one, "--seed", "1", "--variant", "graph")
    run_for_stdout(*one_by_one, "--seed", "0", "--variant", "graph")
    rows = json.loads(run_for_stdout(*one_by_one, "--seed", "0", "--seed", "1", "--variant", "no graph"))["rows"]
    assert {"commit", "command"} <= rows[0].keys()
    del rows[0]["commit"], rows[0]["command"]
    assert rows == [with_graph, without_graph]
    assert len(json.loads(out.read_text())["earlier"]) == 2
    other_precision = f"optimization.bf16={str(not run.optimization.bf16).lower()}"
    with pytest.raises(SettingsError, match="different precision"):
        run_for_stdout(*one_by_one, "--seed", "1", "--set", other_precision)
    with pytest.raises(SettingsError, match="different steps"):
        run_for_stdout(*one_by_one, "--set", "steps=5")

    with pytest.raises(SettingsError, match="needs held-out pages"):
        compare_pretraining(config, {"none": ["held_out_pages=0"]}, [0])


@pytest.mark.training
@pytest.mark.slow
def test_pretrain_reduces_loss_and_initializes_finetuning(
    different_pages: list[Path], vocabulary: Path, tmp_path: Path
) -> None:
    settings = {"steps": 40, "eval_every": 5, "eval_orders": ["given", "shuffled"], "raster": 0.5}
    run = small_pretraining(different_pages, vocabulary, tmp_path / "pretrained", **settings)
    curve = pretrain(run)
    assert pretrain(run) == curve  # a finished run is not trained again
    assert [entry["step"] for entry in curve["held_out"]][-1] == run.steps
    assert {"loss", "accuracy", "loss_shuffled", "accuracy_shuffled"} < set(curve["held_out"][-1])
    assert curve["graph_use"]["as_is"]["loss"] == curve["held_out"][-1]["loss"]
    assert curve["graph_use"]["messages_cut"]["loss"] != curve["graph_use"]["as_is"]["loss"]
    history = json.loads((run.output / "trainer_state.json").read_text())["log_history"]
    losses = [entry["loss"] for entry in history if "loss" in entry]
    assert losses[-1] < 0.9 * losses[0]
    eval_losses = [entry["eval_loss"] for entry in history if "eval_loss" in entry]
    assert eval_losses[-1] < eval_losses[0]
    tuning = small_run(vocabulary, tmp_path / "tuned", init={"checkpoint": run.output}, epochs=1)
    labels = {"id2label": {0: "O"}, "label2id": {"O": 0}}
    initialized = initialize(tuning.init, tuning.optimization, FormNetForTokenClassification, **labels)
    model = initialized.model
    assert initialized.new_parameters == {"classifier.weight", "classifier.bias"}
    pretrained = FormNetForMaskedLM.from_pretrained(run.output)
    assert torch.equal(model.formnet.token_embeddings.weight, pretrained.formnet.token_embeddings.weight)
    assert torch.equal(model.formnet.layers[1].expand.weight, pretrained.formnet.layers[1].expand.weight)


def test_pretrain_learns_hidden_positions_and_other_models_start_from_it(
    different_pages: list[Path], vocabulary: Path, tmp_path: Path
) -> None:
    def position_loss(steps: int) -> float:
        run = small_pretraining(
            different_pages, vocabulary, tmp_path / str(steps), steps=steps, hidden_positions=0.5, held_out_pages=0
        )
        pretrain(run)
        start = run.init.model_copy(update={"checkpoint": run.output, "size": None, "tokenizer": None, "overrides": {}})
        assert not initialize(start, run.optimization, FormNetForMaskedLM).new_parameters
        assert initialize(start, run.optimization, FormNetForTokenClassification).model
        loaded = initialize(start, run.optimization, FormNetForHiddenPositions)
        encoder, generator = Encoder(loaded.tokenizer), np.random.default_rng(0)
        hidden = [hide_positions(page, 0.5, generator) for file in different_pages for page in read(file)]
        batch = masked_batch([encoder(page) for page, _ in hidden], Masker(loaded.tokenizer), generator, encoder)
        positions = collate_positions([own for _, own in hidden], batch["word_ids"])
        with torch.no_grad():
            both = loaded.model.eval()(**batch, positions=positions).loss
            text = loaded.model(**batch).loss
        return float((both - text) * (batch["labels"] >= 0).sum() / (positions >= 0).sum())

    assert position_loss(80) < 2.5 < position_loss(1)
