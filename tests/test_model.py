from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForMaskedLM,
    AutoModelForTokenClassification,
    BertConfig,
    BertModel,
    MPNetConfig,
    MPNetModel,
)

from formnet.document import Document
from formnet.document.builder import DocumentBuilder
from formnet.document.reading_order import reorder
from formnet.document.tags import TagScheme
from formnet.encoding import Encoder, collate, load_tokenizer
from formnet.modeling import (
    SIZES,
    FormNetConfig,
    FormNetForMaskedLM,
    FormNetForTokenClassification,
    FormNetModel,
    warm_config,
    warm_start,
)

WORDS = ["[PAD]", "[UNK]", "[CLS]", *(f"w{i}" for i in range(60)), "##x"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Encoder:
    path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
    path.write_text("\n".join(WORDS))
    return Encoder(load_tokenizer(path), TagScheme(("a", "b")))


def page(words: int, seed: int = 0, pages: int = 1) -> Document:
    generator = np.random.default_rng(seed)
    builder = DocumentBuilder(f"page {seed}")
    for _ in range(pages):
        corner = generator.uniform(0, 900, (words, 2))
        boxes = np.concatenate([corner, corner + generator.uniform(10, 60, (words, 2))], axis=1)
        texts = [f"w{i}" + "x" * (i % 3 == 0) for i in generator.integers(0, 60, words).tolist()]
        builder.add_page(texts, boxes.tolist(), 1000, 1000)
    builder.add_entity("a", range(min(words, 2)))
    return builder.build()


def batch(encoder: Encoder, *documents: Document, double: bool = False) -> dict[str, Any]:
    tensors = collate([encoder(d) for d in documents], encoder.padding_id)
    del tensors["ids"]
    return {k: v.double() if double and v.is_floating_point() else v for k, v in tensors.items()}


def tagger(**changes: Any) -> FormNetForTokenClassification:
    torch.manual_seed(0)
    changes = {"attention_backend": "blocked", **changes}
    config = FormNetConfig.of_size("tiny", vocab_size=len(WORDS), num_labels=9, **changes)
    return FormNetForTokenClassification(config).eval()


@pytest.mark.parametrize("rich", [True, False])
@pytest.mark.parametrize("graph", [True, False])
def test_all_four_of_the_ablation_run_and_learn(encoder: Encoder, rich: bool, graph: bool) -> None:
    model = tagger(rich_attention=rich, super_tokens=graph).train()
    inputs = batch(encoder, page(20), page(13, 1))
    output = model(**inputs)
    assert output.logits.shape == (2, 20, 9)
    output.loss.backward()
    silent = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.abs().sum() > 0]
    # What only the last layer's global token feeds into has nothing to learn from tags of words.
    assert all("global" in name for name in silent), silent


def test_a_document_scores_the_same_alone_and_in_any_batch(encoder: Encoder) -> None:
    model = tagger(radius=5).double()
    documents = [page(9, 1), page(40, 2, pages=2), page(1, 3), page(23, 4)]
    alone = [model(**batch(encoder, d, double=True)).logits[0] for d in documents]
    together = model(**batch(encoder, *documents, double=True)).logits
    for i, scores in enumerate(alone):
        assert torch.allclose(scores, together[i, : len(scores)], atol=1e-8)


def test_a_document_without_words_has_no_tags(encoder: Encoder) -> None:
    empty = DocumentBuilder("empty").build()
    assert tagger()(**batch(encoder, empty)).logits.shape == (1, 0, 9)
    assert tagger()(**batch(encoder, empty, page(5))).logits.shape == (2, 5, 9)


@pytest.mark.parametrize(("rich", "survives"), [(True, True), (False, False)])
def test_shuffling_words_only_permutes_the_outputs(encoder: Encoder, rich: bool, survives: bool) -> None:
    """The paper's structural claim: with a radius that covers the document nothing but the page decides."""
    model = tagger(rich_attention=rich, radius=200).double()
    for layer in model.formnet.layers:
        if layer.relative is not None:
            torch.nn.init.normal_(layer.relative)
    document = page(30)
    shuffled = reorder(document, "shuffled", seed=5)
    place = {(t, *b): i for i, (t, b) in enumerate(zip(shuffled.texts, shuffled.boxes.tolist(), strict=True))}
    moved = [place[(t, *b)] for t, b in zip(document.texts, document.boxes.tolist(), strict=True)]
    before = model(**batch(encoder, document, double=True)).logits[0]
    after = model(**batch(encoder, shuffled, double=True)).logits[0, moved]
    assert torch.allclose(before, after, atol=1e-4) == survives


def test_backends_agree_through_the_whole_model(encoder: Encoder) -> None:
    inputs = batch(encoder, page(120, 1, pages=2), page(77, 2))
    with torch.no_grad():
        scores = [tagger(radius=20, attention_backend=name)(**inputs).logits for name in ("dense", "blocked", "flex")]
    assert torch.allclose(scores[0], scores[1], atol=1e-5)
    assert torch.allclose(scores[0], scores[2], atol=1e-5)


def test_saved_models_come_back_the_same(encoder: Encoder, tmp_path: Path) -> None:
    inputs = batch(encoder, page(20))
    for model, auto in ((tagger(), AutoModelForTokenClassification), (masked_language_model(), AutoModelForMaskedLM)):
        folder = tmp_path / type(model).__name__
        model.save_pretrained(folder)
        assert [f.suffix for f in folder.iterdir() if f.name.startswith("model")] == [".safetensors"]
        again = auto.from_pretrained(folder).eval()
        assert type(again) is type(model)
        kept = {k: v for k, v in inputs.items() if k != "labels"}
        assert torch.equal(again(**kept).logits, model(**kept).logits)
    assert isinstance(AutoConfig.from_pretrained(folder), FormNetConfig)
    assert isinstance(AutoModel.from_pretrained(folder), FormNetModel)


def masked_language_model() -> FormNetForMaskedLM:
    torch.manual_seed(0)
    return FormNetForMaskedLM(FormNetConfig.of_size("tiny", vocab_size=len(WORDS), attention_backend="blocked")).eval()


@pytest.mark.parametrize("kind", [FormNetModel, FormNetForTokenClassification, FormNetForMaskedLM])
def test_every_weight_starts_as_it_should(kind: type[Any]) -> None:
    config = FormNetConfig.of_size("tiny", initial_gate=0.25, initial_sharpness=0.5, sequence_positions=4)
    made = kind(config)
    network: FormNetModel = made if kind is FormNetModel else made.formnet
    width = config.hidden_size
    assert network.super_tokens is not None
    assert torch.equal(network.super_tokens.node.weight[:, :width], torch.eye(width))  # a super-token is its word
    assert 0 < network.super_tokens.node.weight[:, width:].std() < 0.1
    assert network.gate is not None
    assert network.gate.eq(0.25).all()
    for layer in network.layers:
        assert layer.rich.sharpness.eq(0.5).all()
        assert layer.rich.bias[:, : layer.rich.bias.shape[1] // 2].eq(0).all()  # orders are undecided
        assert layer.rich.row.std() > 0
    for name, weight in made.named_parameters():
        assert weight.isfinite().all(), name


def test_masked_language_output_is_tied_and_scores_only_what_is_asked(encoder: Encoder) -> None:
    model = masked_language_model()
    assert model.decoder.weight is model.formnet.pieces.weight
    inputs = batch(encoder, page(20), page(5, 1))
    inputs.pop("labels")
    labels = torch.full_like(inputs["input_ids"], -100)
    labels[0, 3], labels[1, 1] = 7, 9
    asked = model(labels=labels, **inputs)
    everything = model(**inputs).logits
    assert torch.allclose(asked.logits, torch.stack([everything[0, 3], everything[1, 1]]), atol=1e-6)
    expected = torch.nn.functional.cross_entropy(asked.logits, torch.tensor([7, 9]))
    assert torch.allclose(asked.loss, expected)


def test_gradient_checkpointing_changes_no_gradient(encoder: Encoder) -> None:
    inputs = batch(encoder, page(20))
    gradients = []
    for checkpointed in (False, True):
        model = tagger(hidden_dropout_prob=0.0, classifier_dropout=0.0).train()
        if checkpointed:
            model.gradient_checkpointing_enable()
            assert model.is_gradient_checkpointing
        model(**inputs).loss.backward()
        gradients.append([p.grad for p in model.parameters() if p.grad is not None])
    for one, two in zip(*gradients, strict=True):
        assert torch.allclose(one, two, atol=1e-6)


def test_bfloat16_autocast(encoder: Encoder) -> None:
    model = tagger()
    inputs = batch(encoder, page(20))
    exact = model(**inputs).logits
    with torch.autocast("cpu", torch.bfloat16):
        output = model(**inputs)
    assert (output.logits.float() - exact).abs().max() < 0.05
    output.loss.backward()
    assert all(torch.isfinite(p.grad).all() for p in model.parameters() if p.grad is not None)


def test_compiled_and_exported(encoder: Encoder) -> None:
    model = tagger(attention_backend="blocked")
    inputs = batch(encoder, page(20))
    inputs.pop("labels")
    expected = model(**inputs).logits
    exported = torch.export.export(model, (), kwargs=inputs).module()
    assert torch.allclose(exported(**inputs).logits, expected, atol=1e-5)
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(**inputs).logits, expected, atol=1e-5)


#: An encoder to start from.
ENCODER = {"vocab_size": len(WORDS), "hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}


@pytest.mark.parametrize("rich", [True, False])
def test_a_warm_start_begins_as_the_encoder(tmp_path: Path, rich: bool) -> None:
    torch.manual_seed(0)
    shape = BertConfig(**ENCODER, num_hidden_layers=3, max_position_embeddings=40)
    bert = BertModel(shape, add_pooling_layer=False).eval()
    bert.save_pretrained(tmp_path)
    config = warm_config(tmp_path, initial_sharpness=0.0, rich_attention=rich, attention_backend="blocked")
    model = FormNetModel(config).eval()
    if not rich:
        for layer in model.layers:
            layer.relative.data.zero_()
    warm_start(model, tmp_path, cls_id=2)
    ids = torch.randint(3, len(WORDS), (2, 30))
    mask = torch.ones_like(ids)
    mask[1, 20:] = 0
    theirs = bert(
        input_ids=torch.cat([torch.full((2, 1), 2), ids], dim=1),
        attention_mask=torch.nn.functional.pad(mask, (1, 0), value=1),
    ).last_hidden_state
    words = torch.arange(30).expand(2, -1)
    ours = model(
        input_ids=ids,
        attention_mask=mask,
        token_boxes=torch.rand(2, 30, 4) * 1000,
        word_ids=torch.where(mask > 0, words, -1),
        node_features=torch.rand(2, 30, 10),
        neighbors=torch.full((2, 30, 8), -1),
        edge_features=torch.zeros(2, 30, 8, 11),
    )
    for layer in model.layers:  # orders are undecided by their bias; queries and keys must not decide them yet
        if rich:
            assert layer.rich.bias[:, :2].abs().max() == 0
    together = torch.cat([ours.global_state[:, None], ours.last_hidden_state], dim=1)
    seen = torch.nn.functional.pad(mask, (1, 0), value=1).bool()
    assert torch.allclose(together[seen], theirs[seen], atol=1e-5)


def test_a_warm_start_from_mpnet_leaves_only_its_relative_bias_behind(tmp_path: Path) -> None:
    torch.manual_seed(0)
    shape = MPNetConfig(**ENCODER, num_hidden_layers=2, max_position_embeddings=42)
    mpnet = MPNetModel(shape, add_pooling_layer=False).eval()
    mpnet.encoder.relative_attention_bias.weight.data.zero_()
    mpnet.save_pretrained(tmp_path)
    config = warm_config(tmp_path, initial_sharpness=0.0, super_tokens=False, attention_backend="blocked")
    model = FormNetModel(config).eval()
    warm_start(model, tmp_path)
    ids = torch.randint(3, len(WORDS), (1, 30))
    theirs = mpnet(input_ids=torch.cat([torch.zeros(1, 1, dtype=torch.long), ids], dim=1)).last_hidden_state
    ours = model(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        token_boxes=torch.rand(1, 30, 4) * 1000,
        word_ids=torch.arange(30)[None],
    )
    assert torch.allclose(torch.cat([ours.global_state[:, None], ours.last_hidden_state], dim=1), theirs, atol=1e-5)


def test_a_loss_on_all_pieces_weighs_words_alike() -> None:
    torch.manual_seed(0)
    config = FormNetConfig.of_size(
        "tiny", vocab_size=9, super_tokens=False, num_labels=3, attention_backend="blocked", loss_on_all_pieces=True
    )
    model = FormNetForTokenClassification(config).eval()
    inputs = {
        "input_ids": torch.tensor([[3, 4, 5, 6, 0]]),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 0]]),
        "token_boxes": torch.rand(1, 5, 4) * 100,
        "word_ids": torch.tensor([[0, 0, 0, 1, -1]]),
    }
    labels = torch.tensor([[2, 1]])
    loss = model(first_token=torch.tensor([[0, 3]]), labels=labels, **inputs).loss
    states = model.formnet(**inputs).last_hidden_state
    each = [-model.classifier(states[0, i]).log_softmax(-1)[tag] for i, tag in enumerate((2, 2, 2, 1))]
    assert torch.allclose(loss, (sum(each[:3]) / 3 + each[3]) / 2)


def test_other_encoders_are_refused(tmp_path: Path) -> None:
    AutoConfig.for_model("roberta").save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="'roberta'"):
        warm_config(tmp_path)
    with pytest.raises(ValueError, match="known are a1"):
        FormNetConfig.of_size("giant")


def test_named_sizes_are_the_papers() -> None:
    assert {name: SIZES[name]["hidden_size"] for name in ("a1", "a2", "a3")} == {"a1": 512, "a2": 768, "a3": 1024}
    config = FormNetConfig.of_size("a2")
    assert (config.num_hidden_layers, config.num_graph_layers, config.radius) == (12, 12, 84)
    assert config.intermediate_size == 4 * 768
    assert config.to_dict()["model_type"] == "formnet"
