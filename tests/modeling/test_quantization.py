from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer
from transformers import AutoModelForTokenClassification

from formnet.document import Document
from formnet.document.tags import TagScheme
from formnet.encoding import load_tokenizer
from formnet.encoding.tokenizer import tokenize_words
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.pretrained import find_model
from formnet.extraction.task import label_config
from formnet.io.readers import read
from formnet.modeling import FormNetConfig, FormNetForMaskedLM, FormNetForTokenClassification
from formnet.modeling.quantization import load_model, prune_vocabulary, quantize, save_quantized
from formnet.modeling.weights import INT8_WEIGHTS_NAME, dequantize, load_weights
from formnet.training.config import InitConfig, Optimization
from formnet.training.initialization import InitializedModel, initialize

#: Ends of parameter names, and what version 0.1 called them.
OLD_ENDINGS = {
    "token_embeddings.weight": "pieces.weight",
    "position_embeddings.weight": "positions.weight",
    "rich.query_weight": "rich.row",
    "rich.key_weight": "rich.column",
    "rich.theta": "rich.sharpness",
    "global_bias": "to_global",
}


@pytest.fixture
def tokenizer(data: Path) -> Tokenizer:
    return load_tokenizer(data / "vocab" / "bert-base-uncased-vocab.txt")


@pytest.fixture
def documents(examples: Path) -> list[Document]:
    return list(read(examples / "documents.jsonl"))


@pytest.fixture
def extractor(tokenizer: Tokenizer, documents: list[Document]) -> Extractor:
    torch.manual_seed(0)
    labels = label_config({"": TagScheme.from_documents(documents)})
    config = FormNetConfig.of_size("tiny", vocab_size=tokenizer.get_vocab_size(), **labels)
    model = FormNetForTokenClassification(config).eval()
    model.formnet.attention_backend = "tiled"
    return Extractor(model, tokenizer)


@pytest.fixture
def masked_lm(tokenizer: Tokenizer, tmp_path: Path) -> FormNetForMaskedLM:
    """Return a masked language model, whose folder in int8 is `tmp_path`."""
    torch.manual_seed(0)
    model = FormNetForMaskedLM(FormNetConfig.of_size("tiny", vocab_size=tokenizer.get_vocab_size()))
    save_quantized(model, tmp_path)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return model


def initialize_from(checkpoint: Path, **config: Any) -> InitializedModel[FormNetForTokenClassification]:
    return initialize(InitConfig(checkpoint=checkpoint), Optimization(), FormNetForTokenClassification, **config)


def old_name(name: str) -> str:
    for ending, old_ending in OLD_ENDINGS.items():
        if name.endswith(ending):
            return name.removesuffix(ending) + old_ending
    return name


def test_quantize_error_is_below_one_step() -> None:
    torch.manual_seed(0)
    weights = {"matrix": torch.randn(100, 64), "bias": torch.randn(100), "cube": torch.randn(8, 40, 20)}
    weights["matrix"][3] = 0
    quantized = quantize(weights)
    assert quantized["matrix"].dtype == torch.int8
    assert sum(tensor.numel() * tensor.element_size() for tensor in quantized.values()) < 0.3 * 4 * (6400 + 100 + 6400)
    restored = dequantize(quantized)
    assert restored.keys() == weights.keys()
    for name, tensor in weights.items():
        assert (restored[name] - tensor).abs().max() <= tensor.abs().max() / 127
    assert (restored["matrix"][3] == 0).all()


@pytest.mark.parametrize("rich", [True, False])
def test_load_weights_maps_names_of_version_0_1(rich: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = FormNetConfig.of_size("tiny", vocab_size=200, num_labels=9, sequence_positions=8, rich_attention=rich)
    model = FormNetForTokenClassification(config)
    expected = model.state_dict()
    old = {old_name(name): tensor for name, tensor in expected.items()}
    used = {ending for ending in OLD_ENDINGS if any(name.endswith(ending) for name in expected)}
    assert used == (set(OLD_ENDINGS) if rich else {"token_embeddings.weight", "position_embeddings.weight"})
    config.save_pretrained(tmp_path)
    save_file(old, tmp_path / "model.safetensors")
    loaded = load_weights(tmp_path)
    assert loaded.keys() == expected.keys()
    assert all(torch.equal(loaded[name], expected[name]) for name in expected)
    assert all(torch.equal(tensor, expected[name]) for name, tensor in load_model(tmp_path).state_dict().items())
    save_file(quantize(old), tmp_path / INT8_WEIGHTS_NAME)
    with pytest.raises(OSError, match=r"there are both model\.safetensors and model-int8\.safetensors in it"):
        load_weights(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    restored = dequantize(quantize(expected))
    loaded = load_weights(tmp_path)
    assert loaded.keys() == expected.keys()
    assert all(torch.equal(loaded[name], restored[name]) for name in expected)


def test_save_pretrained_quantized_gives_similar_scores(
    extractor: Extractor, documents: list[Document], tmp_path: Path
) -> None:
    extractor.save_pretrained(tmp_path / "int8", quantized=True)
    extractor.save_pretrained(tmp_path / "float")
    int8, full = tmp_path / "int8" / INT8_WEIGHTS_NAME, tmp_path / "float" / "model.safetensors"
    assert int8.stat().st_size < 0.3 * full.stat().st_size
    loaded = Extractor.from_pretrained(tmp_path / "int8")
    for expected, scores in zip(extractor.scores(documents), loaded.scores(documents), strict=True):
        assert np.abs(expected - scores).max() < 0.05
        assert np.abs(expected).max() > 0.05


def test_prune_vocabulary_keeps_scores_of_documents_it_was_pruned_for(
    extractor: Extractor, documents: list[Document], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    before = extractor.scores(documents)
    kept_ids = {int(i) for document in documents for i in tokenize_words(tokenizer, document.texts).ids}
    pruned = prune_vocabulary(extractor.model, tokenizer, kept_ids)
    assert pruned.get_vocab_size() < 5000
    assert extractor.model.formnet.token_embeddings.num_embeddings == pruned.get_vocab_size()
    smaller = Extractor(extractor.model, pruned)
    for expected, scores in zip(before, smaller.scores(documents), strict=True):
        assert np.allclose(expected, scores, atol=1e-5)
    words = ["unforeseeable", "Qüx", "totals"]
    assert "[UNK]" not in pruned.encode(words, is_pretokenized=True, add_special_tokens=False).tokens
    smaller.save_pretrained(tmp_path, quantized=True)
    assert len(Extractor.from_pretrained(tmp_path).extract(documents)) == 2


def test_initialize_from_quantized_checkpoint_loads_all_but_new_tags(
    extractor: Extractor, documents: list[Document], tmp_path: Path
) -> None:
    extractor.save_pretrained(tmp_path, quantized=True)
    same = initialize_from(tmp_path, **label_config({"": TagScheme.from_documents(documents)}))
    assert same.new_parameters == frozenset()
    other = initialize_from(tmp_path, **label_config({"": TagScheme(("other",))}))
    assert {name.partition(".")[0] for name in other.new_parameters} == {"classifier"}
    assert isinstance(extractor.model, FormNetForTokenClassification)
    expected, loaded = extractor.model.formnet.norm.weight, other.model.formnet.norm.weight
    assert torch.allclose(expected, loaded, atol=1e-2)
    matrices = (extractor.model.formnet.layers[0].query.weight, other.model.formnet.layers[0].query.weight)
    assert torch.allclose(*matrices, atol=1e-2)


@pytest.mark.parametrize("quantized", [False, True])
def test_initialize_from_checkpoint_matches_tags_by_name(extractor: Extractor, tmp_path: Path, quantized: bool) -> None:
    extractor.save_pretrained(tmp_path, quantized=quantized)
    assert isinstance(extractor.model, FormNetForTokenClassification)
    stored_ids = extractor.model.config.label2id
    (scheme,) = extractor.heads.values()
    types = tuple(reversed(scheme.entity_types))
    for new_types in ((), ("iban",)):
        labels = label_config({"": TagScheme((*new_types, *types))})
        initialized = initialize_from(tmp_path, **labels)
        assert initialized.new_parameters == ({"classifier.weight", "classifier.bias"} if new_types else frozenset())
        for name, index in labels["label2id"].items():
            if name in stored_ids:
                loaded = initialized.model.classifier.weight[index]
                expected = extractor.model.classifier.weight[stored_ids[name]]
                assert torch.allclose(loaded, expected, atol=1e-2 if quantized else 0), name


def test_initialize_from_corrupt_or_missing_weights_raises(extractor: Extractor, tmp_path: Path) -> None:
    extractor.save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(SettingsError, match="cannot start from"):
        initialize_from(tmp_path)
    weights.unlink()
    with pytest.raises(SettingsError, match=r"neither model\.safetensors nor"):
        initialize_from(tmp_path)


def test_from_pretrained_int8_folder_is_the_model_that_the_extractor_loads() -> None:
    folder = find_model("receipts")
    expected = load_model(folder).state_dict()
    model = AutoModelForTokenClassification.from_pretrained(folder)
    assert model.state_dict().keys() == expected.keys()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in model.state_dict().items())
    assert model.config.get_task().calibration
    assert not model.training


def test_from_pretrained_int8_folder_with_other_labels_keeps_the_encoder() -> None:
    folder = find_model("receipts")
    labels = {0: "O", 1: "B-total", 2: "I-total"}
    model = FormNetForTokenClassification.from_pretrained(
        folder, id2label=labels, task=None, loss="token", ignore_mismatched_sizes=True
    )
    assert model.classifier.out_features == 3
    assert (model.config.loss, model.config.task) == ("token", None)
    encoder = load_model(folder).formnet.state_dict()
    assert all(torch.equal(tensor, encoder[name]) for name, tensor in model.formnet.state_dict().items())


def test_save_quantized_masked_lm_stores_tied_weights_once(masked_lm: FormNetForMaskedLM, tmp_path: Path) -> None:
    assert "decoder.weight" not in load_weights(tmp_path)
    restored = FormNetForMaskedLM.from_pretrained(tmp_path)
    assert restored.decoder.weight is restored.formnet.token_embeddings.weight
    for name, parameter in masked_lm.named_parameters():
        step = float(parameter.detach().abs().max()) / 127
        assert torch.allclose(restored.get_parameter(name), parameter, atol=max(step, 1e-3)), name


def test_initialize_from_quantized_masked_lm_keeps_its_network(masked_lm: FormNetForMaskedLM, tmp_path: Path) -> None:
    initialized = initialize_from(tmp_path)
    assert initialized.new_parameters == {"classifier.weight", "classifier.bias"}
    weight = initialized.model.formnet.token_embeddings.weight
    assert torch.allclose(weight, masked_lm.formnet.token_embeddings.weight, atol=1e-3)


@pytest.mark.usefixtures("masked_lm")
def test_extractor_from_masked_lm_asks_for_fine_tuning(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"has no labels yet. Fine-tune it with formnet train"):
        Extractor.from_pretrained(tmp_path)
