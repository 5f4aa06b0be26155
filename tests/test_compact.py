from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer

from formnet.document import Document
from formnet.document.tags import TagScheme
from formnet.encoding import load_tokenizer
from formnet.encoding.tokenizer import cut
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor, labels_of
from formnet.io.readers import read
from formnet.modeling import FormNetConfig, FormNetForTokenClassification
from formnet.modeling.quantization import WEIGHTS, compress, prune_vocabulary, restore
from formnet.training.config import Start
from formnet.training.initialization import load_start


@pytest.fixture
def tokenizer(data: Path) -> Tokenizer:
    return load_tokenizer(data / "vocab" / "bert-base-uncased-vocab.txt")


@pytest.fixture
def documents(examples: Path) -> list[Document]:
    return list(read(examples / "documents.jsonl"))


@pytest.fixture
def extractor(tokenizer: Tokenizer, documents: list[Document]) -> Extractor:
    torch.manual_seed(0)
    labels = labels_of({"": TagScheme.of(documents)})
    config = FormNetConfig.of_size("tiny", vocab_size=tokenizer.get_vocab_size(), attention_backend="blocked", **labels)
    return Extractor(FormNetForTokenClassification(config).eval(), tokenizer)


def test_eight_bits_are_near_enough() -> None:
    torch.manual_seed(0)
    weights = {"matrix": torch.randn(100, 64), "bias": torch.randn(100), "cube": torch.randn(8, 40, 20)}
    weights["matrix"][3] = 0
    small = compress(weights)
    assert small["matrix"].dtype == torch.int8
    assert sum(tensor.numel() * tensor.element_size() for tensor in small.values()) < 0.3 * 4 * (6400 + 100 + 6400)
    again = restore(small)
    assert again.keys() == weights.keys()
    for name, tensor in weights.items():
        assert (again[name] - tensor).abs().max() <= tensor.abs().max() / 127
    assert (again["matrix"][3] == 0).all()


def test_a_compact_model_loads_and_scores_alike(
    extractor: Extractor, documents: list[Document], tmp_path: Path
) -> None:
    extractor.save_pretrained(tmp_path / "small", compact=True)
    extractor.save_pretrained(tmp_path / "large")
    small, large = tmp_path / "small" / WEIGHTS, tmp_path / "large" / "model.safetensors"
    assert small.stat().st_size < 0.3 * large.stat().st_size
    again = Extractor.from_pretrained(tmp_path / "small")
    for one, other in zip(extractor.scores(documents), again.scores(documents), strict=True):
        assert np.abs(one - other).max() < 0.05
        assert np.abs(one).max() > 0.05


def test_a_pruned_vocabulary_says_the_same_of_what_it_has_seen(
    extractor: Extractor, documents: list[Document], tokenizer: Tokenizer, tmp_path: Path
) -> None:
    before = extractor.scores(documents)
    seen = {int(i) for document in documents for i in cut(tokenizer, document.texts).ids}
    pruned = prune_vocabulary(extractor.model, tokenizer, seen)
    assert pruned.get_vocab_size() < 5000
    assert extractor.model.formnet.pieces.num_embeddings == pruned.get_vocab_size()
    smaller = Extractor(extractor.model, pruned)
    for one, other in zip(before, smaller.scores(documents), strict=True):
        assert np.allclose(one, other, atol=1e-5)
    words = ["unforeseeable", "Qüx", "totals"]
    assert "[UNK]" not in pruned.encode(words, is_pretokenized=True, add_special_tokens=False).tokens
    smaller.save_pretrained(tmp_path, compact=True)
    assert len(Extractor.from_pretrained(tmp_path).extract(documents)) == 2


def test_training_starts_from_a_compact_model(extractor: Extractor, documents: list[Document], tmp_path: Path) -> None:
    extractor.save_pretrained(tmp_path, compact=True)
    same = load_start(
        Start(checkpoint=tmp_path), FormNetForTokenClassification, **labels_of({"": TagScheme.of(documents)})
    )
    assert same.new == frozenset()
    others = load_start(
        Start(checkpoint=tmp_path), FormNetForTokenClassification, **labels_of({"": TagScheme(("other",))})
    )
    assert {name.partition(".")[0] for name in others.new} == {"classifier"}
    assert isinstance(extractor.model, FormNetForTokenClassification)
    ours, stored = extractor.model.formnet.norm.weight, others.model.formnet.norm.weight
    assert torch.allclose(ours, stored, atol=1e-2)
    matrices = (extractor.model.formnet.layers[0].query.weight, others.model.formnet.layers[0].query.weight)
    assert torch.allclose(*matrices, atol=1e-2)


@pytest.mark.parametrize("compact", [False, True])
def test_tags_keep_their_weights_by_name(extractor: Extractor, tmp_path: Path, compact: bool) -> None:
    extractor.save_pretrained(tmp_path, compact=compact)
    assert isinstance(extractor.model, FormNetForTokenClassification)
    had = extractor.model.config.label2id
    (scheme,) = extractor.heads.values()
    types = tuple(reversed(scheme.entity_types))
    for more in ((), ("iban",)):
        labels = labels_of({"": TagScheme((*more, *types))})
        begun = load_start(Start(checkpoint=tmp_path), FormNetForTokenClassification, **labels)
        assert begun.new == ({"classifier.weight", "classifier.bias"} if more else frozenset())
        for name, number in labels["label2id"].items():
            if name in had:
                ours, theirs = begun.model.classifier.weight[number], extractor.model.classifier.weight[had[name]]
                assert torch.allclose(ours, theirs, atol=1e-2 if compact else 0), name


def test_weights_that_are_missing_or_broken_are_explained(extractor: Extractor, tmp_path: Path) -> None:
    extractor.save_pretrained(tmp_path)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(SettingsError, match="cannot begin from"):
        load_start(Start(checkpoint=tmp_path), FormNetForTokenClassification)
    weights.unlink()
    with pytest.raises(SettingsError, match=r"neither model\.safetensors nor"):
        load_start(Start(checkpoint=tmp_path), FormNetForTokenClassification)
