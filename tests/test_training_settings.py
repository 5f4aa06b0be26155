"""What a run is told, and what it cannot be told."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from formnet.document.tags import TagScheme
from formnet.errors import SettingsError
from formnet.extraction.extractor import Extractor, labels_of
from formnet.io.writers import write
from formnet.modeling import FormNetForTokenClassification
from formnet.training.config import FineTuning, PreTraining, Start, load_settings
from formnet.training.experiments.compare import read_variants
from formnet.training.finetune import finetune
from formnet.training.initialization import load_start
from plain_documents import words_and_boxes
from small_runs import settings_for, under_other_names

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("variants", sorted((ROOT / "configs").glob("*/*.yaml")), ids=lambda file: file.stem)
def test_shipped_choices_are_settings(variants: Path) -> None:
    config = ROOT / "configs" / f"{variants.stem.partition('-')[0]}.yaml"  # rows/funsd-scratch.yaml is of funsd.yaml
    for overrides in read_variants(variants).values():
        load_settings(FineTuning, config, overrides)


@pytest.mark.parametrize("config", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda file: file.stem)
def test_shipped_configurations_are_settings(config: Path) -> None:
    load_settings(PreTraining if config.stem.startswith("pretrain") else FineTuning, config)


def test_settings_are_read_and_overridden(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("corpus: funsd:x\nstart: {size: tiny, tokenizer: v}\noutput: o\n")
    run = load_settings(FineTuning, file, ["seed=3", "optimization.learning_rate=3e-5", "augmentation.drop=0.1"])
    assert (run.seed, run.optimization.learning_rate, run.augmentation.drop) == (3, 3e-5, 0.1)


@pytest.mark.parametrize("fast", [True, False])
def test_bf16_is_used_where_it_is_faster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fast: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: fast)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    file = tmp_path / "run.yaml"
    file.write_text("corpus: funsd:x\nstart: {size: tiny, tokenizer: v}\noutput: o\n")
    assert load_settings(FineTuning, file).optimization.bf16 is fast
    assert load_settings(FineTuning, file, ["optimization.bf16=true"]).optimization.bf16 is True
    assert load_settings(FineTuning, file, ["seed=1", "optimization.clip=0.5"]).optimization.bf16 is fast


@pytest.mark.parametrize(
    ("text", "override", "message"),
    [
        ("corpus: a\nstart: {size: tiny, tokenizer: v}\noutput: o\nepohcs: 3", None, "epohcs"),
        ("corpus: a\nstart: {size: tiny}\noutput: o", None, "name a tokenizer"),
        ("corpus: a\nstart: {size: tiny, encoder: minilm, tokenizer: v}\noutput: o", None, "just one of"),
        ("start: {encoder: minilm}\noutput: o", None, "corpus: Field required"),
        ("corpus: a\nstart: {encoder: minilm}\noutput: o", "seed", "name=value"),
        ("corpus: a\nstart: {encoder: minilm}\noutput: o", "corpus.x=1", "has no parts"),
        ("corpus: a\nstart: {encoder: minilm}\noutput: o\nheld_out: 1.5", None, "held_out"),
        ("corpus: a\nstart: {encoder: minilm}\noutput: o", "output=@x", "put quotes around it"),
        ("[1, 2]", None, "not a list"),
        ("a: [", None, "cannot be read as YAML"),
    ],
)
def test_a_fault_in_settings_is_told_by_its_place(
    tmp_path: Path, text: str, override: str | None, message: str
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message):
        load_settings(FineTuning, file, [override] if override else ())


def test_a_missing_start_is_explained(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"config\.json"):
        load_start(Start(checkpoint=tmp_path), FormNetForTokenClassification)
    (tmp_path / "config.json").write_text("{")
    for bad in (Start(checkpoint=tmp_path), Start(encoder=str(tmp_path))):
        with pytest.raises(SettingsError, match="cannot begin from"):
            load_start(bad, FormNetForTokenClassification)


def test_how_dates_are_written_is_not_inherited() -> None:
    for told in (None, True):
        changes = {} if told is None else {"day_first": told}
        begun = load_start(Start(checkpoint="receipts", changes=changes), FormNetForTokenClassification)
        assert begun.model.config.day_first is told


def test_an_unknown_size_is_explained(vocabulary: Path) -> None:
    with pytest.raises(SettingsError, match=r"no size 'giant'; known are a1"):
        load_start(Start(size="giant", tokenizer=str(vocabulary)), FormNetForTokenClassification)


def test_what_cannot_be_is_refused(vocabulary: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be more than all"):
        settings_for(vocabulary, tmp_path, augmentation={"raster": 0.6, "shuffled": 0.6})
    with pytest.raises(SettingsError, match="warm_up"):
        settings_for(vocabulary, tmp_path, optimization={"warm_up": 1})
    with pytest.raises(SettingsError, match="has no hiden_size"):
        load_start(
            Start(size="tiny", tokenizer=str(vocabulary), changes={"hiden_size": 8}), FormNetForTokenClassification
        )
    with pytest.raises(SettingsError, match="one for each"):
        finetune(settings_for(vocabulary, tmp_path, temperatures=[1.0, 2.0]))
    with pytest.raises(SettingsError, match="fitted on documents held out"):
        finetune(settings_for(vocabulary, tmp_path, temperatures=[1.0], validation=under_other_names(tmp_path)))
    with pytest.raises(SettingsError, match="need letterheads"):
        settings_for(vocabulary, tmp_path, augmentation={"body": 0.5})
    both = {"loss_on_all_pieces": True, "loss_on_paths": True}
    with pytest.raises(SettingsError, match="on all pieces or on paths"):
        load_start(Start(size="tiny", tokenizer=str(vocabulary), changes=both), FormNetForTokenClassification)


def test_a_constant_rate_warms_up(vocabulary: Path, tmp_path: Path) -> None:
    settings = {"schedule": "constant", "warm_up": 0.5, "bf16": False, "batch_documents": 1}
    run = settings_for(vocabulary, tmp_path, epochs=4, optimization=settings)
    finetune(run)
    history = json.loads((tmp_path / "trainer_state.json").read_text())["log_history"]
    rates = [entry["learning_rate"] for entry in history if "learning_rate" in entry]
    assert rates[0] < rates[-1] == run.optimization.learning_rate


def test_a_head_alone_takes_over_what_one_of_several_knows(vocabulary: Path) -> None:
    types = ("address", "company", "tip", "total")
    begun = load_start(
        Start(checkpoint=Path("receipts")), FormNetForTokenClassification, **labels_of({"": TagScheme(types)})
    )
    theirs = Extractor.from_pretrained("receipts").model
    assert isinstance(theirs, FormNetForTokenClassification)
    for name in ("O", "B-total", "S-company"):
        row = theirs.config.label2id[f"sroie/{name}"]
        assert torch.equal(
            begun.model.classifier.weight[begun.model.config.label2id[name]], theirs.classifier.weight[row]
        )
    heads = {"values": TagScheme(types), "lines": TagScheme(("tip",))}
    begun = load_start(Start(checkpoint=Path("receipts")), FormNetForTokenClassification, **labels_of(heads))
    ours, row = begun.model.config.label2id["values/B-total"], theirs.config.label2id["sroie/B-total"]
    assert torch.equal(begun.model.classifier.weight[ours], theirs.classifier.weight[row])
    strange = load_start(
        Start(checkpoint=Path("receipts")), FormNetForTokenClassification, **labels_of({"": TagScheme(("tip",))})
    )
    assert {"classifier.weight", "classifier.bias"} <= strange.new
    large = vocabulary.with_name("large.txt")
    large.write_text("\n".join(["[PAD]", "[UNK]", "[MASK]", *map(str, range(30_000))]))
    with pytest.raises(SettingsError, match="pieces, the network"):
        load_start(Start(checkpoint=Path("receipts"), tokenizer=str(large)), FormNetForTokenClassification)


def test_letterheads_name_heads_that_there_are(vocabulary: Path, tmp_path: Path) -> None:
    run = settings_for(vocabulary, tmp_path, letterheads={"jsonl": "nobody"})
    with pytest.raises(SettingsError, match="no head 'nobody'; there are jsonl"):
        finetune(run)
    run = settings_for(vocabulary, tmp_path, letterheads={"jsonl": "jsonl"}, alike={"sum": "total"})
    with pytest.raises(SettingsError, match="either jsonl has no 'sum', or"):
        finetune(run)
    heads = []
    for number, label in enumerate(("total", "sum", "amount")):
        document = words_and_boxes(str(number))
        heads.append(tmp_path / f"{number}.jsonl")
        write([replace(document, entities=(document.entity(label, [0]),))], heads[-1])
    letterheads = {"jsonl-2": "jsonl", "jsonl-3": "jsonl"}
    changes = {"corpus": [f"jsonl:{file}" for file in heads], "letterheads": letterheads}
    run = settings_for(vocabulary, tmp_path, augmentation={"body": 0.5}, **changes)
    with pytest.raises(SettingsError, match="jsonl is named twice"):
        finetune(run)
