import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoModelForTokenClassification

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.reading_order import reorder
from formnet.document.tags import TagScheme
from formnet.encoding import Encoder, collate, load_tokenizer
from formnet.encoding.graph import neighbors, page_graph
from formnet.modeling import (
    FormNetConfig,
    FormNetForMaskedLM,
    FormNetForTokenClassification,
    FormNetModel,
)
from formnet.modeling.attention import BACKENDS
from formnet.modeling.formnet import edge_directions
from formnet.modeling.quantization import save_quantized

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", *(f"w{i}" for i in range(60)), "##x"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(VOCABULARY))
    return Encoder(load_tokenizer(path), TagScheme(("a", "b")))


def make_document(words: int, seed: int = 0, pages: int = 1) -> Document:
    generator = np.random.default_rng(seed)
    builder = DocumentBuilder(f"page {seed}")
    for _ in range(pages):
        corner = generator.uniform(0, 900, (words, 2))
        boxes = np.concatenate([corner, corner + generator.uniform(10, 60, (words, 2))], axis=1)
        texts = [f"w{i}" + "x" * (i % 3 == 0) for i in generator.integers(0, 60, words).tolist()]
        builder.add_page(texts, boxes.tolist(), 1000, 1000)
    builder.add_entity("a", range(min(words, 2)))
    return builder.build()


def make_batch(encoder: Encoder, *documents: Document, double: bool = False) -> dict[str, Any]:
    tensors = collate([encoder(d) for d in documents], encoder.padding_id)
    del tensors["ids"]
    return {k: v.double() if double and v.is_floating_point() else v for k, v in tensors.items()}


def tagger(backend: str = "tiled", **overrides: Any) -> FormNetForTokenClassification:
    torch.manual_seed(0)
    config = FormNetConfig.of_size("tiny", vocab_size=len(VOCABULARY), num_labels=9, **overrides)
    model = FormNetForTokenClassification(config).eval()
    model.formnet.attention_backend = backend
    return model


def masked_language_model() -> FormNetForMaskedLM:
    torch.manual_seed(0)
    model = FormNetForMaskedLM(FormNetConfig.of_size("tiny", vocab_size=len(VOCABULARY))).eval()
    model.formnet.attention_backend = "tiled"
    return model


@pytest.mark.parametrize("rich", [True, False])
@pytest.mark.parametrize("graph", [True, False])
def test_token_classification_ablations_train_all_parameters(encoder: Encoder, rich: bool, graph: bool) -> None:
    model = tagger(rich_attention=rich, super_tokens=graph).train()
    inputs = make_batch(encoder, make_document(20), make_document(13, 1))
    output = model(**inputs)
    assert output.logits.shape == (2, 20, 9)
    output.loss.backward()
    without_gradient = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    # Word tags do not depend on the last layer's global token.
    assert all("global" in name for name in without_gradient), without_gradient


#: Designs of the graph other than the default.
GRAPH_DESIGNS: list[dict[str, Any]] = [
    {"graph_fusion": "replace"},
    {"graph_fusion": "update", "edge_initializer_range": 0.2},
    {"directed_messages": True},
    {"graph_attention_heads": 4},
]


@pytest.mark.parametrize("design", GRAPH_DESIGNS, ids=str)
def test_token_classification_graph_designs_change_scores_and_train(encoder: Encoder, design: dict[str, Any]) -> None:
    inputs = make_batch(encoder, make_document(20), make_document(13, 1))
    assert not torch.allclose(tagger(**design)(**inputs).logits, tagger()(**inputs).logits)
    model = tagger(**design).train()
    model(**inputs).loss.backward()
    assert model.formnet.super_tokens is not None
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.formnet.super_tokens.parameters())


def test_token_classification_zero_messages_start_as_model_without_graph(encoder: Encoder) -> None:
    neutral = tagger(graph_fusion="update", zero_messages=True)
    inputs = make_batch(encoder, make_document(20))
    without_edges = {**inputs, "neighbors": torch.full_like(inputs["neighbors"], -1)}
    assert torch.allclose(neutral(**inputs).logits, neutral(**without_edges).logits, atol=1e-5)
    neutral.train()(**inputs).loss.backward()
    assert all(layer.message.weight.grad.abs().sum() > 0 for layer in neutral.formnet.super_tokens.layers)


def test_edge_directions_are_left_right_above_below() -> None:
    boxes = [[50, 50, 60, 60], [10, 52, 20, 58], [90, 50, 99, 60], [52, 5, 58, 15], [50, 90, 60, 99]]
    builder = DocumentBuilder("cross")
    builder.add_page(list("abcde"), boxes, 100, 100)
    table, features = neighbors(page_graph(builder.build().pages[0]))
    directions = edge_directions(torch.from_numpy(features))[0].tolist()
    assert dict(zip(table[0].tolist(), directions, strict=True)) | {-1: None} == {1: 0, 2: 1, 3: 2, 4: 3, -1: None}


@pytest.mark.parametrize("design", [{}, *GRAPH_DESIGNS], ids=str)
def test_token_classification_scores_do_not_depend_on_batch(encoder: Encoder, design: dict[str, Any]) -> None:
    model = tagger(radius=5, **design).double()
    documents = [make_document(9, 1), make_document(40, 2, pages=2), make_document(1, 3), make_document(23, 4)]
    separate = [model(**make_batch(encoder, d, double=True)).logits[0] for d in documents]
    batched = model(**make_batch(encoder, *documents, double=True)).logits
    for i, scores in enumerate(separate):
        assert torch.allclose(scores, batched[i, : len(scores)], atol=1e-8)


def test_token_classification_empty_document_has_no_scores(encoder: Encoder) -> None:
    empty = DocumentBuilder("empty").build()
    assert tagger()(**make_batch(encoder, empty)).logits.shape == (1, 0, 9)
    assert tagger()(**make_batch(encoder, empty, make_document(5))).logits.shape == (2, 5, 9)


@pytest.mark.parametrize(("rich", "is_equal"), [(True, True), (False, False)])
def test_token_classification_shuffled_words_permute_scores(encoder: Encoder, rich: bool, is_equal: bool) -> None:
    """The paper's structural claim: if the radius covers the document, the word order does not matter."""
    model = tagger(rich_attention=rich, radius=200).double()
    for layer in model.formnet.layers:
        if layer.relative is not None:
            torch.nn.init.normal_(layer.relative)
    document = make_document(30)
    shuffled = reorder(document, "shuffled", seed=5)
    index = {(t, *b): i for i, (t, b) in enumerate(zip(shuffled.texts, shuffled.boxes.tolist(), strict=True))}
    moved = [index[(t, *b)] for t, b in zip(document.texts, document.boxes.tolist(), strict=True)]
    before = model(**make_batch(encoder, document, double=True)).logits[0]
    after = model(**make_batch(encoder, shuffled, double=True)).logits[0, moved]
    assert torch.allclose(before, after, atol=1e-4) == is_equal


def test_token_classification_backends_give_equal_scores(encoder: Encoder) -> None:
    inputs = make_batch(encoder, make_document(120, 1, pages=2), make_document(77, 2))
    with torch.no_grad():
        scores = [tagger(backend, radius=20)(**inputs).logits for backend in ("dense", "tiled", "export")]
    assert torch.allclose(scores[0], scores[1], atol=1e-5)
    assert torch.allclose(scores[0], scores[2], atol=1e-5)


def test_save_pretrained_round_trip_gives_equal_scores(encoder: Encoder, tmp_path: Path) -> None:
    inputs = make_batch(encoder, make_document(20))
    for model, auto in ((tagger(), AutoModelForTokenClassification), (masked_language_model(), AutoModelForMaskedLM)):
        folder = tmp_path / type(model).__name__
        model.save_pretrained(folder)
        assert [f.suffix for f in folder.iterdir() if f.name.startswith("model")] == [".safetensors"]
        loaded = auto.from_pretrained(folder).eval()
        assert type(loaded) is type(model)
        loaded.formnet.attention_backend = "tiled"
        unlabeled = {k: v for k, v in inputs.items() if k != "labels"}
        assert torch.equal(loaded(**unlabeled).logits, model(**unlabeled).logits)
    assert isinstance(AutoConfig.from_pretrained(folder), FormNetConfig)
    assert isinstance(AutoModel.from_pretrained(folder), FormNetModel)


@pytest.mark.parametrize("backend", BACKENDS)
def test_save_pretrained_omits_attention_backend(backend: str, tmp_path: Path) -> None:
    model, language_model = tagger(backend), masked_language_model()
    language_model.formnet.attention_backend = backend
    model.save_pretrained(tmp_path / "float")
    save_quantized(model, tmp_path / "int8")
    language_model.save_pretrained(tmp_path / "language")
    for name in ("float", "int8", "language"):
        assert "attention_backend" not in json.loads((tmp_path / name / "config.json").read_text())
    loaded = FormNetForTokenClassification.from_pretrained(tmp_path / "float")
    assert loaded.formnet.attention_backend == "auto"
    assert model.formnet.attention_backend == backend


@pytest.mark.parametrize("kind", [FormNetModel, FormNetForTokenClassification, FormNetForMaskedLM])
def test_init_weights_sets_every_parameter(kind: type[Any]) -> None:
    config = FormNetConfig.of_size("tiny", initial_gate=0.25, initial_theta=0.5, sequence_positions=4)
    model = kind(config)
    network: FormNetModel = model if kind is FormNetModel else model.formnet
    width = config.hidden_size
    assert network.super_tokens is not None
    # A super-token starts as its word's embedding.
    assert torch.equal(network.super_tokens.node.weight[:, :width], torch.eye(width))
    assert 0 < network.super_tokens.node.weight[:, width:].std() < 0.1
    assert network.gate is not None
    assert network.gate.eq(0.25).all()
    for layer in network.layers:
        assert layer.rich.theta.eq(0.5).all()
        assert layer.rich.bias[:, : layer.rich.bias.shape[1] // 2].eq(0).all()  # orders start undecided
        assert layer.rich.query_weight.std() > 0
    for name, weight in model.named_parameters():
        assert weight.isfinite().all(), name


def test_masked_lm_ties_output_and_scores_masked_tokens_only(encoder: Encoder) -> None:
    model = masked_language_model()
    assert model.decoder.weight is model.formnet.token_embeddings.weight
    inputs = make_batch(encoder, make_document(20), make_document(5, 1))
    inputs.pop("labels")
    labels = torch.full_like(inputs["input_ids"], -100)
    labels[0, 3], labels[1, 1] = 7, 9
    masked = model(labels=labels, **inputs)
    all_logits = model(**inputs).logits
    assert torch.allclose(masked.logits, torch.stack([all_logits[0, 3], all_logits[1, 1]]), atol=1e-6)
    expected = torch.nn.functional.cross_entropy(masked.logits, torch.tensor([7, 9]))
    assert torch.allclose(masked.loss, expected)


def test_gradient_checkpointing_gives_equal_gradients(encoder: Encoder) -> None:
    # The method has another name since transformers 5.23.
    base = FormNetForTokenClassification
    enable = getattr(base, "activation_checkpointing_enable", None) or base.gradient_checkpointing_enable
    inputs = make_batch(encoder, make_document(20))
    gradients = []
    for checkpointing in (False, True):
        model = tagger(hidden_dropout_prob=0.0, classifier_dropout=0.0).train()
        if checkpointing:
            enable(model)
            assert any(getattr(module, "gradient_checkpointing", False) for module in model.modules())
        model(**inputs).loss.backward()
        gradients.append([p.grad for p in model.parameters() if p.grad is not None])
    for expected, checkpointed in zip(*gradients, strict=True):
        assert torch.allclose(expected, checkpointed, atol=1e-6)


def test_token_classification_bfloat16_autocast_is_close(encoder: Encoder) -> None:
    model = tagger()
    inputs = make_batch(encoder, make_document(20))
    exact = model(**inputs).logits
    with torch.autocast("cpu", torch.bfloat16):
        output = model(**inputs)
    assert (output.logits.float() - exact).abs().max() < 0.05
    output.loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


@pytest.mark.slow
def test_token_classification_exports_and_compiles(encoder: Encoder) -> None:
    model = tagger("tiled")
    inputs = make_batch(encoder, make_document(20))
    inputs.pop("labels")
    expected = model(**inputs).logits
    exported = torch.export.export(model, (), kwargs=inputs).module()
    assert torch.allclose(exported(**inputs).logits, expected, atol=1e-5)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(**inputs).logits, expected, atol=1e-5)


def test_all_tokens_loss_weighs_words_equally() -> None:
    torch.manual_seed(0)
    config = FormNetConfig.of_size("tiny", vocab_size=9, super_tokens=False, num_labels=3, loss="all_tokens")
    model = FormNetForTokenClassification(config).eval()
    model.formnet.attention_backend = "tiled"
    inputs = {
        "input_ids": torch.tensor([[3, 4, 5, 6, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 0]]),
        "token_boxes": torch.rand(1, 5, 4) * 100,
        "word_ids": torch.tensor([[0, 0, 0, 1, -1]]),
    }
    labels = torch.tensor([[2, 1]])
    loss = model(first_token=torch.tensor([[0, 3]]), labels=labels, **inputs).loss
    states = model.formnet(**inputs).last_hidden_state
    losses = [-model.classifier(states[0, i]).log_softmax(-1)[tag] for i, tag in enumerate((2, 2, 2, 1))]
    assert torch.allclose(loss, (sum(losses[:3]) / 3 + losses[3]) / 2)
