"""What a training run is told: one YAML file, any part of it overridden by `name.name=value`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from formnet.document.reading_order import Order
from formnet.errors import SettingsError
from formnet.extraction.runtime import fast_in_bf16

#: Corpora as kind:path@split; one alone may be written as it is.
Corpora = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
Share = Annotated[float, Field(ge=0, le=1)]


class Settings(BaseModel):
    """Refuses what it does not know, so that a misspelled setting is not silently the default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Start(Settings):
    """What the network is before the first step: just one of checkpoint, encoder and size."""

    checkpoint: Path | None = None  # a shipped model, or a folder that a training run wrote
    encoder: str | None = None  # a BERT-family encoder to start warm from: `minilm`, a folder or a hub name
    size: str | None = None  # a named size with random weights
    tokenizer: str | None = None  # needed with a size; otherwise what the checkpoint or encoder has
    changes: dict[str, Any] = {}  # of the network's configuration

    @model_validator(mode="after")
    def _just_one(self) -> "Start":
        if sum(source is not None for source in (self.checkpoint, self.encoder, self.size)) != 1:
            raise ValueError("name just one of checkpoint, encoder and size")
        if self.size is not None and self.tokenizer is None:
            raise ValueError("a size says nothing of words; name a tokenizer too")
        return self


class Optimization(Settings):
    """How weights move."""

    learning_rate: float = Field(1e-4, gt=0)
    new_learning_rate: float | None = Field(None, gt=0)  # for weights that the start did not bring; else the same
    layout_learning_rate: float | None = Field(None, gt=0)  # for order, distance and the gate; else as others
    layer_decay: float = Field(1.0, gt=0, le=1)  # each layer below the top learns by so much less
    weight_decay: float = Field(0.01, ge=0)
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = Field(1e-6, gt=0)
    warm_up: float = Field(0.1, ge=0, lt=1)  # the share of steps over which the rate rises
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    clip: float = Field(1.0, ge=0)
    max_batch_tokens: int = Field(4096, ge=1)  # a padded batch holds at most so many
    batch_documents: int | None = Field(None, ge=1)
    accumulate: int = Field(1, ge=1)
    bf16: bool = Field(default_factory=fast_in_bf16)  # where that is faster
    checkpoint_layers: bool = False  # less memory, a forward pass more
    frozen: tuple[str, ...] = ()  # weights that stay as they are, by the beginning of their names: formnet.pieces


class Augmentation(Settings):
    """What is made worse on purpose, so that the network learns to bear it. All off by default."""

    jitter: float = Field(0, ge=0)  # a word moves by a normal deviation of so many of its heights
    scale: Share = 0  # the words of a page shrink or grow by up to so much, along x and y apart
    shift: Share = 0  # and move by up to so much of the page
    drop: Share = 0  # a word is missed
    misread: Share = 0  # a word has a character as OCR might see it
    decimals: Share = 0  # a document's amounts in thousands, 75,000, are written with decimals, 75.00
    raster: Share = 0  # a document is read line by line instead of in its own order
    shuffled: Share = 0  # or in no order at all
    unknown: Share = 0  # a piece is masked
    letterhead: Share = 0  # a document gets another's top and foot around it, of the head that `letterheads` names
    body: Share = 0  # instead of a document of that head comes one of those documents, with such a top and foot

    @model_validator(mode="after")
    def _one_order_each(self) -> "Augmentation":
        if self.raster + self.shuffled > 1:
            raise ValueError("raster and shuffled are shares of the same documents, and cannot be more than all")
        return self

    @property
    def any(self) -> bool:
        """Whether anything is switched on."""
        return self != Augmentation()


class Run(Settings):
    """What every run has."""

    start: Start
    output: Path
    seed: int = Field(0, ge=0)
    optimization: Optimization = Field(default_factory=Optimization)
    save_minutes: float = Field(5.0, ge=0)  # how much work a kill may cost
    keep_checkpoints: int = Field(1, ge=1)
    threads: int | None = Field(None, ge=1)


class FineTuning(Run):
    """Learn to tag the entities of labeled documents."""

    corpus: Corpora = Field(min_length=1)  # of several, those with other tags have a head of their own
    validation: Corpora = ()  # looked at while training, by the head of a corpus of the same kind that has its labels
    held_out: float = Field(0, ge=0, lt=1)  # so much of the other heads' documents, always the same ones
    documents: int | None = Field(None, ge=1)  # train on so many of each head only, for a learning curve
    order: Order = "given"
    segment_boxes: bool = False  # give every word its entity's box: an easier task, not what OCR gives
    occurrences: Literal["best", "all"] = "best"  # of keyed-in values
    epochs: int = Field(20, ge=1)
    look_every: int = Field(1, ge=1)  # epochs between looks at the held-out part
    augmentation: Augmentation = Augmentation()
    letterheads: dict[str, str] = {}  # heads whose documents lack the sender's lines, and the head that has such lines
    alike: dict[str, str] = {}  # entities of the latter head, and what the former calls them: total, total.total_price
    temperatures: tuple[
        Annotated[float, Field(gt=0)], ...
    ] = ()  # of each head, from a run that held documents out, where this one does not

    @model_validator(mode="after")
    def _letterheads_are_named(self) -> "FineTuning":
        if not self.letterheads and (self.augmentation.letterhead or self.augmentation.body or self.alike):
            raise ValueError("letterhead, body and alike need letterheads, which name whose documents get whose lines")
        return self


class PreTraining(Run):
    """Learn to guess masked words of unlabeled pages."""

    pages: tuple[Path, ...] = Field(min_length=1)  # JSONL or Parquet files, read again and again
    steps: int = Field(ge=1)
    mask: float = Field(0.15, gt=0, lt=1)
    whole_words: bool = True
    shuffle: int = Field(1024, ge=1)  # pages held at once to mix them
    held_out_pages: int = Field(0, ge=0)  # the first so many of each file are not trained on but looked at
    look_every: int = Field(500, ge=1)  # steps


Kind = TypeVar("Kind", bound=Run)


def load_settings(kind: type[Kind], file: Path, overrides: Sequence[str] = ()) -> Kind:
    """Read settings from YAML; an override is `seed=3` or `optimization.learning_rate=3e-5`."""
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{file}: cannot be read as YAML: {error}.") from error
    if not isinstance(data, dict):
        raise SettingsError(f"{file}: settings are names with values, not a {type(data).__name__}.")
    for override in overrides:
        _override(data, override)
    return make_settings(kind, data, str(file))


def make_settings(kind: type[Kind], data: Mapping[str, Any], source: str) -> Kind:
    """Check settings; a fault is told by its place."""
    try:
        return kind.model_validate(data)
    except ValidationError as error:
        faults = (
            f"{'.'.join(map(str, fault['loc'])) or 'settings'}: {fault['msg'].removeprefix('Value error, ')}"
            for fault in error.errors()
        )
        raise SettingsError(f"{source}: {'; '.join(faults)}.") from error


def _override(data: dict[str, Any], override: str) -> None:
    path, equals, value = override.partition("=")
    *parents, name = path.strip().split(".")
    if not equals or not name:
        raise SettingsError(f"{override!r}: write a setting as name=value, as in optimization.learning_rate=3e-5.")
    for parent in parents:
        data = data.setdefault(parent, {})
        if not isinstance(data, dict):
            raise SettingsError(f"{override!r}: {parent} has no parts.")
    try:
        data[name] = _value(value)
    except yaml.YAMLError as error:
        raise SettingsError(f"{override!r}: the value cannot be read as YAML; put quotes around it.") from error


def _value(text: str) -> Any:
    """Read a value as YAML would, and 3e-5 as the number that people mean."""
    try:
        return float(text) if any(c in text for c in "eE.") else yaml.safe_load(text)
    except ValueError:
        return yaml.safe_load(text)
