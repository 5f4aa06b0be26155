"""Configuration of training runs: one YAML file, with overrides such as `name.name=value`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from formnet.document.reading_order import Order
from formnet.errors import SettingsError
from formnet.extraction.runtime import has_native_bf16

#: Corpora as kind:path@split; a single one may be a plain string.
Corpora = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
Probability = Annotated[float, Field(ge=0, le=1)]


class Settings(BaseModel):
    """Base class that rejects unknown keys, so that a misspelled setting does not become its default."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class InitConfig(Settings):
    """Initial weights: exactly one of checkpoint, encoder and size."""

    checkpoint: Path | None = None  # a shipped model, or the folder of a training run
    encoder: str | None = None  # a BERT-family encoder for a warm start: `minilm`, a folder or hf://owner/name
    size: str | None = None  # a named size with random weights
    tokenizer: str | None = None  # required with a size; default: that of the checkpoint or encoder
    overrides: dict[str, Any] = {}  # entries of the model configuration

    @model_validator(mode="after")
    def _exactly_one_source(self) -> "InitConfig":
        if sum(source is not None for source in (self.checkpoint, self.encoder, self.size)) != 1:
            raise ValueError("set exactly one of checkpoint, encoder and size")
        if self.size is not None and self.tokenizer is None:
            raise ValueError("a size needs a tokenizer; set tokenizer as well")
        return self


class Optimization(Settings):
    """Optimizer, learning rate schedule and batches."""

    learning_rate: float = Field(1e-4, gt=0)
    new_learning_rate: float | None = Field(None, gt=0)  # of parameters not in the checkpoint; default: the same
    layout_learning_rate: float | None = Field(None, gt=0)  # of order, distance and gate parameters; default: the same
    learning_rates: dict[str, float] = {}  # part of a parameter's name: its learning rate; the first match counts
    layer_decay: float = Field(1.0, gt=0, le=1)  # factor of the learning rate per layer below the top
    weight_decay: float = Field(0.01, ge=0)
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = Field(1e-6, gt=0)
    warmup_ratio: float = Field(0.1, ge=0, lt=1)  # share of the steps
    schedule: Literal["linear", "cosine", "constant"] = "linear"
    average_decay: float | None = Field(None, gt=0, lt=1)  # of an average of the weights; default: the last weights
    max_grad_norm: float = Field(1.0, ge=0)
    max_batch_tokens: int = Field(4096, ge=1)  # per process, including padding
    max_batch_documents: int | None = Field(None, ge=1)  # per process
    gradient_accumulation_steps: int = Field(1, ge=1)
    bf16: bool = Field(default_factory=has_native_bf16)  # default: if the hardware supports it
    compile: bool = True  # compile attention if a C++ compiler is available
    gradient_checkpointing: bool = False
    frozen: tuple[str, ...] = ()  # prefixes of parameters that stay fixed, such as formnet.token_embeddings


class ReadingOrders(Settings):
    """Shares of documents that are read in another order."""

    raster: Probability = 0  # probability that a document's words are sorted line by line
    shuffled: Probability = 0  # probability that a document's words are shuffled

    @model_validator(mode="after")
    def _orders_exclude_each_other(self) -> Self:
        if self.raster + self.shuffled > 1:
            raise ValueError("raster and shuffled exclude each other, so their sum cannot exceed 1")
        return self


class Augmentation(ReadingOrders):
    """Random changes to training documents; all off by default."""

    jitter: float = Field(0, ge=0)  # standard deviation of each word's offset, in word heights
    scale: Probability = 0  # maximum relative scaling of a page's words, along x and y
    shift: Probability = 0  # maximum offset of a page's words, as a share of the page size
    word_dropout: Probability = 0  # probability that a word is dropped
    ocr_noise: Probability = 0  # probability that a word gets a typical OCR error
    glued: Probability = 0  # probability that a document loses the spaces within its entities and other texts
    decimals: Probability = 0  # probability that a document's amounts in thousands (75,000) get decimals (75.00)
    token_mask: Probability = 0  # probability that a token is masked

    @property
    def any(self) -> bool:
        """Whether any augmentation is on."""
        return self != Augmentation()


class Run(Settings):
    """Settings of every training run."""

    init: InitConfig
    output: Path
    seed: int = Field(0, ge=0)
    optimization: Optimization = Field(default_factory=Optimization)
    save_minutes: float = Field(5.0, ge=0)  # minutes between checkpoints
    keep_checkpoints: int = Field(1, ge=1)
    threads: int | None = Field(None, ge=1)  # CPU threads; default: all cores


class FineTuning(Run):
    """Fine-tuning on labeled documents."""

    init: InitConfig = InitConfig(checkpoint=Path("base"))
    corpus: Corpora = Field(min_length=1)  # corpora with the same labels share a head
    labels: Literal["corpus", "canonical"] = "corpus"  # canonical: the schema's names, and one head for all corpora
    keep_labels: tuple[str, ...] = ()  # labels to learn; default: all
    fully_labeled: tuple[str, ...] = ()  # with canonical: kinds of corpora in which a label that they lack is absent
    validation: Corpora = ()  # evaluated with the head that has their labels and a training corpus of the same kind
    held_out: float = Field(0, ge=0, lt=1)  # share to hold out for heads without validation; the same in every run
    held_out_fold: int = Field(0, ge=0)  # which part of this share; 0.2 has folds 0 to 4
    documents: int | None = Field(None, ge=1)  # maximum training documents per head, for learning curves
    order: Order = "given"
    teachers: dict[str, Path] = {}  # kind of a corpus: a model whose predictions are the labels that it lacks
    readings: dict[str, Path] = {}  # kind of a corpus: words of its images as `formnet data read` wrote them
    train_on_readings: bool = True  # whether these words are also trained on, or only held-out documents have them
    segment_boxes: bool = False  # replace word boxes by entity boxes, which OCR does not provide: an easier task
    label_all_occurrences: bool = False  # of entered field values; default: only the best match
    caption_labels: tuple[str, ...] = ()  # labels of keyed-in values whose captions become part of their entities
    day_first: bool | None = None  # whether 03/04/2019 is 3 April in these documents; default: unknown
    join_cells: bool = False  # read the lines of each table cell together, in training and by the trained model
    loss: Literal["token", "all_tokens", "crf"] | None = None  # default: loss of the checkpoint, or token
    schema_file: Path | None = None  # JSON file that arranges labels in a tree; see docs/training.md
    structure: bool = False  # train heads for captions and links, where documents have them
    link_size: int = Field(128, ge=1)  # size of the link head
    link_states: bool = True  # whether it also reads the states of entities, or only labels and positions
    epochs: int = Field(20, ge=1)
    eval_every: int = Field(1, ge=1)  # epochs
    augmentation: Augmentation = Augmentation()

    @model_validator(mode="after")
    def _check_canonical_labels(self) -> "FineTuning":
        if self.labels == "canonical" and self.loss != "crf":
            raise ValueError("labels: canonical needs loss: crf, which allows for labels that a corpus does not have")
        if self.teachers and self.labels != "canonical":
            raise ValueError("teachers need labels: canonical, so that models and corpora share their labels")
        return self

    @model_validator(mode="after")
    def _held_out_fold_exists(self) -> "FineTuning":
        if self.held_out_fold and (self.held_out_fold + 1) * self.held_out > 1 + 1e-9:
            raise ValueError(f"held_out_fold: {self.held_out_fold} does not exist if held_out is {self.held_out}")
        return self


class Distillation(Run):
    """Training on the tag probabilities of other models for unlabeled documents."""

    init: InitConfig = InitConfig(checkpoint=Path("base"))
    teachers: tuple[Path, ...] = Field(min_length=1)  # models with the same labels, whose tag scores are averaged
    corpus: Corpora = Field(min_length=1)  # documents; their own labels are not used
    documents: int | None = Field(None, ge=1)  # maximum number; default: all
    epochs: int = Field(2, ge=1)
    token_mask: Probability = 0  # probability that the trained model does not see a token


class PreTraining(Run, ReadingOrders):
    """Masked language modeling on unlabeled pages."""

    pages: tuple[Path, ...] = Field(min_length=1)  # JSONL or Parquet files, read repeatedly
    corpora: Corpora = ()  # labeled corpora whose words are read, too
    steps: int = Field(ge=1)
    mlm_probability: float = Field(0.15, gt=0, lt=1)
    whole_words: bool = True  # mask all tokens of a word
    hidden_positions: Probability = 0  # share of words whose position on the page is hidden, and predicted
    shuffle_buffer: int = Field(1024, ge=1)  # pages
    held_out_pages: int = Field(0, ge=0)  # per file, from its start, rounded up to complete documents
    exclude: Corpora = ()  # corpora whose documents, and near-duplicates of their pages, are not trained on
    eval_every: int = Field(500, ge=1)  # steps
    eval_orders: tuple[Order, ...] = Field(("given",), min_length=1)  # of held-out pages; scores are of the first


RunType = TypeVar("RunType", bound=Run)


def load_settings(run_type: type[RunType], file: Path, overrides: Sequence[str] = ()) -> RunType:
    """Load settings from a YAML file; overrides have the form `seed=3` or `optimization.learning_rate=3e-5`."""
    data = read_yaml(file)
    for override in overrides:
        _override(data, override)
    return make_settings(run_type, data, str(file))


def is_pretraining(file: Path) -> bool:
    """Return whether a YAML file has settings of pre-training, which has pages instead of a corpus."""
    return "pages" in read_yaml(file)


def read_yaml(file: Path) -> dict[str, Any]:
    """Read a YAML file with a mapping."""
    try:
        data = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SettingsError(f"{file}: cannot be read as YAML: {error}.") from error
    if not isinstance(data, dict):
        raise SettingsError(f"{file}: expected a mapping of names to values, not a {type(data).__name__}.")
    return data


def make_settings(run_type: type[RunType], data: Mapping[str, Any], source: str) -> RunType:
    """Validate settings; errors name the source and the setting."""
    try:
        return run_type.model_validate(data)
    except ValidationError as error:
        details = (
            f"{'.'.join(map(str, detail['loc'])) or 'settings'}: {detail['msg'].removeprefix('Value error, ')}"
            for detail in error.errors()
        )
        raise SettingsError(f"{source}: {'; '.join(details)}.") from error


def _override(data: dict[str, Any], override: str) -> None:
    path, equals, value = override.partition("=")
    *parents, name = path.strip().split(".")
    if not equals or not name:
        raise SettingsError(
            f"{override!r}: write overrides as name=value, for example optimization.learning_rate=3e-5."
        )
    for parent in parents:
        data = data.setdefault(parent, {})
        if not isinstance(data, dict):
            raise SettingsError(f"{override!r}: {parent} is a single value, not a group of settings.")
    try:
        data[name] = _parse_value(value)
    except yaml.YAMLError as error:
        raise SettingsError(f"{override!r}: the value cannot be read as YAML. Put quotes around it.") from error


def _parse_value(text: str) -> Any:
    """Parse a value as YAML, but 3e-5 as a number, which YAML 1.1 reads as a string."""
    try:
        return float(text) if any(c in text for c in "eE.") else yaml.safe_load(text)
    except ValueError:
        return yaml.safe_load(text)
