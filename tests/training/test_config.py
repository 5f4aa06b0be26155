"""Settings of training runs: files, overrides and errors."""

from pathlib import Path

import pytest
import torch

from formnet.errors import SettingsError
from formnet.training.config import Distillation, FineTuning, PreTraining, Run, is_pretraining, load_settings
from formnet.training.experiments.compare import read_variants
from small_runs import small_run

CONFIGS = Path(__file__).parents[2] / "configs"


def run_type(config: Path) -> type[Run]:
    if is_pretraining(config):
        return PreTraining
    return Distillation if config.stem == "distill" else FineTuning


@pytest.mark.parametrize("variants", sorted(CONFIGS.glob("*/*.yaml")), ids=lambda file: file.stem)
def test_load_settings_shipped_variants_are_valid(variants: Path) -> None:
    config = CONFIGS / variants.name
    if not config.is_file():
        config = CONFIGS / f"{variants.stem.partition('-')[0]}.yaml"  # rows/funsd-scratch.yaml belongs to funsd.yaml
    for overrides in read_variants(variants).values():
        load_settings(run_type(config), config, overrides)


@pytest.mark.parametrize("config", sorted(CONFIGS.glob("*.yaml")), ids=lambda file: file.stem)
def test_load_settings_shipped_configuration_is_valid(config: Path) -> None:
    load_settings(run_type(config), config)


def test_load_settings_overrides_replace_values(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("corpus: funsd:x\ninit: {size: tiny, tokenizer: v}\noutput: o\n")
    overrides = ["seed=3", "optimization.learning_rate=3e-5", "augmentation.word_dropout=0.1"]
    run = load_settings(FineTuning, file, overrides)
    assert (run.seed, run.optimization.learning_rate, run.augmentation.word_dropout) == (3, 3e-5, 0.1)


@pytest.mark.parametrize("native", [True, False])
def test_load_settings_bf16_defaults_to_native_support(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, native: bool
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: native)
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: False)
    file = tmp_path / "run.yaml"
    file.write_text("corpus: funsd:x\ninit: {size: tiny, tokenizer: v}\noutput: o\n")
    assert load_settings(FineTuning, file).optimization.bf16 is native
    assert load_settings(FineTuning, file, ["optimization.bf16=true"]).optimization.bf16 is True
    assert load_settings(FineTuning, file, ["seed=1", "optimization.max_grad_norm=0.5"]).optimization.bf16 is native


@pytest.mark.parametrize(
    ("text", "override", "message"),
    [
        ("corpus: a\ninit: {size: tiny, tokenizer: v}\noutput: o\nepohcs: 3", None, "epohcs"),
        ("corpus: a\ninit: {size: tiny}\noutput: o", None, "a size needs a tokenizer"),
        ("corpus: a\ninit: {size: tiny, encoder: minilm, tokenizer: v}\noutput: o", None, "exactly one of"),
        ("init: {encoder: minilm}\noutput: o", None, "corpus: Field required"),
        ("corpus: a\ninit: {encoder: minilm}\noutput: o", "seed", "name=value"),
        ("corpus: a\ninit: {encoder: minilm}\noutput: o", "corpus.x=1", "corpus is a single value"),
        ("corpus: a\ninit: {encoder: minilm}\noutput: o\nheld_out: 1.5", None, "held_out"),
        ("corpus: a\ninit: {encoder: minilm}\noutput: o", "output=@x", "Put quotes around it"),
        ("[1, 2]", None, "not a list"),
        ("a: [", None, "cannot be read as YAML"),
    ],
)
def test_load_settings_invalid_raises_with_location(
    tmp_path: Path, text: str, override: str | None, message: str
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(text)
    with pytest.raises(SettingsError, match=message):
        load_settings(FineTuning, file, [override] if override else ())


def test_make_settings_conflicting_values_raises(vocabulary: Path, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="their sum cannot exceed 1"):
        small_run(vocabulary, tmp_path, augmentation={"raster": 0.6, "shuffled": 0.6})
    with pytest.raises(SettingsError, match="warmup_ratio"):
        small_run(vocabulary, tmp_path, optimization={"warmup_ratio": 1})
    with pytest.raises(SettingsError, match="loss: Input should be 'token', 'all_tokens' or 'crf'"):
        small_run(vocabulary, tmp_path, loss="both")
