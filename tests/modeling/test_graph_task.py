"""A task that only the graph can solve: the tag of a word is given by the word below it, or two below it.

Words come in random order, and attention knows only positions in this order.
"""

import numpy as np
import pytest
import torch

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.encoding import Encoder, collate, load_tokenizer
from formnet.encoding.graph_edits import edit_graph
from formnet.modeling import FormNetConfig, FormNetForTokenClassification

ROWS, COLUMNS, KINDS = 6, 5, 8
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", *(f"w{i}" for i in range(KINDS))]
#: How the graph enters the network: what the shipped models were trained with, and what starts neutral.
DESIGNS = {
    "add": {"graph_fusion": "add"},
    "update": {"graph_fusion": "update", "zero_messages": True, "edge_initializer_range": 0.14},
}


def make_page(number: int, steps: int) -> tuple[Document, list[int]]:
    """Return a grid of words in random order, and for each word the kind of that `steps` below it, or no kind."""
    generator = np.random.default_rng(number)
    kinds = generator.integers(KINDS, size=(ROWS, COLUMNS))
    targets = np.full((ROWS, COLUMNS), KINDS)
    targets[:-steps] = kinds[steps:]
    order = generator.permutation(ROWS * COLUMNS)
    row, column = np.divmod(order, COLUMNS)
    corner = np.stack([column * 180.0, row * 120.0], 1) + generator.uniform(0, 25, (len(order), 2))
    boxes = np.concatenate([corner, corner + np.array([60.0, 20.0])], axis=1)
    builder = DocumentBuilder(f"page {number}")
    builder.add_page([f"w{kind}" for kind in kinds.ravel()[order]], boxes.tolist(), 1000, 800)
    return builder.build(), targets.ravel()[order].tolist()


class GraphTask:
    """Batches of the task, and a small network without Rich Attention."""

    def __init__(self, encoder: Encoder, steps: int, **config: object) -> None:
        self.encoder, self.steps = encoder, steps
        torch.manual_seed(0)
        self.model = FormNetForTokenClassification(
            FormNetConfig.of_size(
                "tiny",
                vocab_size=len(VOCABULARY),
                num_labels=KINDS + 1,
                rich_attention=False,
                hidden_dropout_prob=0.0,
                classifier_dropout=0.0,
                hidden_size=64,
                **config,
            )
        )
        self.model.formnet.attention_backend = "tiled"

    def batch(self, numbers: range, *, cut: bool = False) -> dict[str, torch.Tensor]:
        pages, targets = zip(*(make_page(number, self.steps) for number in numbers), strict=True)
        encoded = [self.encoder(page) for page in pages]
        if cut:
            encoded = [edit_graph(page, "messages_cut") for page in encoded]
        tensors = collate(encoded, self.encoder.padding_id)
        del tensors["ids"]
        return {**tensors, "labels": torch.tensor(targets)}

    def train(self, updates: int, pages: int = 16) -> None:
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=0.0)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, updates, pct_start=0.1)
        self.model.train()
        for update in range(updates):
            loss = self.model(**self.batch(range(update * pages, (update + 1) * pages))).loss
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            optimizer.step()
            schedule.step()

    @torch.no_grad()
    def accuracy(self, *, cut: bool = False) -> float:
        batch = self.batch(range(1_000_000, 1_000_050), cut=cut)
        logits = self.model.eval()(**batch).logits
        return float((logits.argmax(-1) == batch["labels"]).float().mean())


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY))
    return Encoder(load_tokenizer(path))


@pytest.mark.training
@pytest.mark.slow
@pytest.mark.parametrize(("design", "steps", "updates"), [("add", 1, 150), ("update", 2, 400)])
def test_training_graph_task_is_learned_through_messages(
    encoder: Encoder, design: str, steps: int, updates: int
) -> None:
    task = GraphTask(encoder, steps, num_graph_layers=3, **DESIGNS[design])
    task.train(updates)
    assert task.accuracy() >= 0.99
    assert task.accuracy(cut=True) < 0.5


@pytest.mark.training
@pytest.mark.slow
def test_training_without_graph_does_not_learn_graph_task(encoder: Encoder) -> None:
    task = GraphTask(encoder, 1, super_tokens=False)
    task.train(60)
    assert task.accuracy() < 0.5
