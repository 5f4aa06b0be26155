"""Pre-training, and fine-tuning from its checkpoint."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.io.writers import write
from formnet.modeling import FormNetForMaskedLM, FormNetForTokenClassification
from formnet.training.config import PreTraining, make_settings
from formnet.training.initialization import initialize
from formnet.training.pretrain import pretrain
from small_runs import SMALL_MODEL, small_run


def some_words(document: Document, number: int) -> Document:
    """Return the first page with six tenths of its words, so that no two pages are near-duplicates."""
    page = document.pages[0]
    kept = np.sort(np.random.default_rng(number).permutation(len(page.texts))[: len(page.texts) * 6 // 10])
    builder = DocumentBuilder(f"page {number}")
    builder.add_page([page.texts[i] for i in kept], page.boxes[kept].tolist(), page.width, page.height)
    return builder.build()


@pytest.mark.training
@pytest.mark.slow
def test_pretrain_reduces_loss_and_initializes_finetuning(
    documents: list[Document], vocabulary: Path, tmp_path: Path
) -> None:
    pages = [tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"]
    for number, file in enumerate(pages):
        write([some_words(documents[i % 2], 20 * number + i) for i in range(12)], file)
    run = make_settings(
        PreTraining,
        {
            "pages": pages,
            "init": {"size": "tiny", "tokenizer": str(vocabulary), "overrides": SMALL_MODEL},
            "output": tmp_path / "pretrained",
            "steps": 40,
            "eval_every": 5,
            "held_out_pages": 1,
            "eval_orders": ["given", "shuffled"],
            "raster": 0.5,
            "shuffle_buffer": 8,
            "optimization": {"learning_rate": 5e-3, "max_batch_tokens": 600, "bf16": False, "compile": False},
        },
        "test",
    )
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
