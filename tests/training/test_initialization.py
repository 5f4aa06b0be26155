"""Initial weights and tokenizer."""

from pathlib import Path
from typing import Any

import pytest
import torch

from formnet.document.tags import TagScheme
from formnet.encoding import Encoder, collate
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor
from formnet.extraction.task import label_config
from formnet.modeling import FormNetForTokenClassification
from formnet.training.config import FineTuning, InitConfig, Optimization, make_settings
from formnet.training.initialization import InitializedModel, initialize
from plain_documents import words_and_boxes


def initialize_classifier(init: InitConfig, **config: Any) -> InitializedModel[FormNetForTokenClassification]:
    return initialize(init, Optimization(compile=False), FormNetForTokenClassification, **config)


def test_initialize_missing_or_corrupt_config_raises(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"config\.json"):
        initialize_classifier(InitConfig(checkpoint=tmp_path))
    (tmp_path / "config.json").write_text("{")
    for init in (InitConfig(checkpoint=tmp_path), InitConfig(encoder=str(tmp_path))):
        with pytest.raises(SettingsError, match="cannot start from"):
            initialize_classifier(init)


def test_fine_tuning_starts_from_base_by_default() -> None:
    run = make_settings(FineTuning, {"corpus": "jsonl:documents.jsonl", "output": "runs/x"}, "settings")
    initialized = initialize_classifier(run.init, **label_config({"": TagScheme(("total",))}))
    assert initialized.new_parameters == {"classifier.weight", "classifier.bias"}
    assert initialized.tokenizer.get_vocab_size() == initialized.model.config.vocab_size


@pytest.mark.parametrize("day_first", [None, True])
def test_initialize_checkpoint_does_not_inherit_day_first(day_first: bool | None) -> None:
    config = {} if day_first is None else label_config({"": TagScheme(("total",))}, day_first=day_first)
    initialized = initialize_classifier(InitConfig(checkpoint=Path("receipts")), **config)
    assert initialized.model.config.get_task().day_first is day_first


def test_initialize_invalid_overrides_raises(vocabulary: Path) -> None:
    with pytest.raises(SettingsError, match=r"no size 'giant'; the sizes are a1"):
        initialize_classifier(InitConfig(size="giant", tokenizer=str(vocabulary)))
    with pytest.raises(SettingsError, match="has no hiden_size"):
        initialize_classifier(InitConfig(size="tiny", tokenizer=str(vocabulary), overrides={"hiden_size": 8}))
    with pytest.raises(SettingsError, match="loss 'both' is not among token, all_tokens, crf"):
        initialize_classifier(InitConfig(size="tiny", tokenizer=str(vocabulary), overrides={"loss": "both"}))


def test_initialize_segments_start_as_the_checkpoint() -> None:
    """The columns of features that the checkpoint does not have start at zero; the others are copied."""
    document = words_and_boxes("form", "Name:", "Mary", "Smith")
    states = []
    for segments in (False, True):
        initialized = initialize_classifier(InitConfig(checkpoint=Path("base"), overrides={"segments": segments}))
        network = initialized.model.formnet.eval()
        encoder = Encoder(initialized.tokenizer, segments=network.config.segments)
        batch = collate([encoder(document)], encoder.padding_id)
        assert batch["edge_features"].shape[-1] == (12 if segments else 11)
        states.append(network(**batch).last_hidden_state)
    assert torch.equal(states[0], states[1])


@pytest.mark.slow
def test_initialize_checkpoint_copies_classifier_rows_of_same_tags() -> None:
    types = ("merchant.address", "merchant.name", "salary", "total")
    checkpoint = InitConfig(checkpoint=Path("receipts"))
    model = initialize_classifier(checkpoint, **label_config({"": TagScheme(types)})).model
    pretrained = Extractor.from_pretrained("receipts").model
    assert isinstance(pretrained, FormNetForTokenClassification)
    for name in ("O", "B-total", "S-merchant.name"):
        row = pretrained.config.label2id[name]
        own_row = model.config.label2id[name]
        assert torch.equal(model.classifier.weight[own_row], pretrained.classifier.weight[row])
    heads = {"values": TagScheme(types), "lines": TagScheme(("salary",))}
    model = initialize_classifier(checkpoint, **label_config(heads)).model
    own_row, row = model.config.label2id["values/B-total"], pretrained.config.label2id["B-total"]
    assert torch.equal(model.classifier.weight[own_row], pretrained.classifier.weight[row])
    unrelated = initialize_classifier(checkpoint, **label_config({"": TagScheme(("salary",))}))
    assert {"classifier.weight", "classifier.bias"} <= unrelated.new_parameters


def test_initialize_tokenizer_larger_than_vocabulary_raises(tmp_path: Path) -> None:
    large = tmp_path / "large.txt"
    large.write_text("\n".join(["[PAD]", "[UNK]", "[MASK]", *map(str, range(30_000))]))
    with pytest.raises(SettingsError, match="tokens, the network"):
        initialize_classifier(InitConfig(checkpoint=Path("receipts"), tokenizer=str(large)))
